from tests.api.conftest import _database, api, post, run, sim, stranger, trace

__all__ = ["_database", "api", "post", "run", "sim", "stranger", "trace"]
