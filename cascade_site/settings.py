"""All of Cascade's settings, from the environment. The README lists the variables.

Without any of them one machine is enough: SQLite, files and a folder as the broker, all under ``CASCADE_DATA``.
"""

import os
import secrets
from pathlib import Path

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from cascade_site.machine import memory_bytes

BASE_DIR = Path(__file__).resolve().parent.parent


def env_text(name: str, default: str = "") -> str:
    """A variable's text; an empty one counts as not set."""
    return os.environ.get(name, "").strip() or default


def env_bool(name: str) -> bool:
    """``1`` or ``0`` (not set is ``0``); anything else is refused rather than guessed."""
    value = env_text(name, "0")
    if value not in ("0", "1"):
        raise ImproperlyConfigured(f"{name} must be 0 or 1, not {value!r}.")
    return value == "1"


def env_int(name: str, default: int) -> int:
    """A whole number of at least 1."""
    value = env_text(name, str(default))
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        raise ImproperlyConfigured(f"{name} must be a whole number above 0, not {value!r}.")
    return int(value)


def env_limit(name: str, default: int) -> int:
    """A whole number of at least 1, or 0 for no limit."""
    return 0 if env_text(name) == "0" else env_int(name, default)


def kept_secret(path: Path) -> str:
    """A random secret that is made once and kept in a file only its owner reads.

    Two processes may start at the same time: the one that links its file first wins, and both read the winner's.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(32))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


# Cascade ----------------------------------------------------------------------------------------------------------

CASCADE_DATA = Path(env_text("CASCADE_DATA", str(BASE_DIR / "data"))).resolve()
CASCADE_URL = env_text("CASCADE_URL", "http://127.0.0.1:8000").rstrip("/")
CASCADE_WORKSPACE = env_text("CASCADE_WORKSPACE") or None
CASCADE_NO_AUTH = env_bool("CASCADE_NO_AUTH")
CASCADE_TOKEN = env_text("CASCADE_TOKEN") or kept_secret(CASCADE_DATA / "token")
CASCADE_S3_ENDPOINT = env_text("CASCADE_S3_ENDPOINT") or None
CASCADE_S3_BUCKET = env_text("CASCADE_S3_BUCKET") or None
CASCADE_S3_PREFIX = env_text("CASCADE_S3_PREFIX").strip("/")
CASCADE_ACCELSIM = env_text("CASCADE_ACCELSIM") or None
CASCADE_ACCELSIM_CONFIGS = env_text("CASCADE_ACCELSIM_CONFIGS") or None
CASCADE_REPLAY_LOG = env_text("CASCADE_REPLAY_LOG") or None
CASCADE_MAX_FILE_BYTES = env_int("CASCADE_MAX_FILE_BYTES", 256 * 1024**2)
CASCADE_MAX_UPLOAD_BYTES = env_int("CASCADE_MAX_UPLOAD_BYTES", 8 * 1024**3)
CASCADE_METRICS_TOKEN = env_text("CASCADE_METRICS_TOKEN") or None

# A runner reports every HEARTBEAT seconds; without a word for LEASE seconds it is lost and its sim starts again,
# ATTEMPTS times in all. A simulator that prints nothing for STALL seconds is ended.
CASCADE_HEARTBEAT_S = env_int("CASCADE_HEARTBEAT_S", 5)
CASCADE_LEASE_S = env_int("CASCADE_LEASE_S", 60)
CASCADE_ATTEMPTS = env_int("CASCADE_ATTEMPTS", 3)
CASCADE_STALL_S = env_int("CASCADE_STALL_S", 3600)
# How long a runner keeps trying to reach an app that is away, and how much of a simulator's output it keeps.
CASCADE_PATIENCE_S = env_int("CASCADE_PATIENCE_S", 900)
CASCADE_MAX_LOG_BYTES = env_int("CASCADE_MAX_LOG_BYTES", 4 * 1024**3)
# What a simulator's process may take of the machine it runs on: address space, the size of any file, open files. A real
# Accel-Sim needs a few files and far less than its machine has; small machines map more than they have.
CASCADE_SIM_MEMORY_BYTES = env_limit("CASCADE_SIM_MEMORY_BYTES", max(memory_bytes(), 4 * 1024**3))
CASCADE_SIM_FILE_BYTES = env_limit("CASCADE_SIM_FILE_BYTES", 64 * 1024**3)
CASCADE_SIM_OPEN_FILES = env_limit("CASCADE_SIM_OPEN_FILES", 4096)
CASCADE_MAX_LOG_CHUNK_BYTES = 1024**2
CASCADE_MAX_JSON_BYTES = 16 * 1024**2

# Django -----------------------------------------------------------------------------------------------------------

SECRET_KEY = env_text("CASCADE_SECRET_KEY") or kept_secret(CASCADE_DATA / "secret_key")
DEBUG = env_bool("CASCADE_DEBUG")
# The Host header carries no meaning here: the app builds no absolute URL from it.
ALLOWED_HOSTS = [host for host in env_text("CASCADE_ALLOWED_HOSTS", "*").split(",") if host]
CSRF_TRUSTED_ORIGINS = [CASCADE_URL] if CASCADE_URL.startswith("https://") else []

INSTALLED_APPS = [
    "daphne",
    "cascade_site.admin_config.CascadeAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "channels",
    "django_eventstream",
    "cascade_site",
    "traces",
    "runs",
    "sims",
]

MIDDLEWARE = [
    "cascade_site.metrics.RequestTimesMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "cascade_site.security.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    # Innermost, because it is synchronous: that makes Django run all of them in one thread, where it would otherwise change
    # threads for each (a sixth of a small request's time). Nothing before it reads a body.
    "cascade_site.security.BodyLimitMiddleware",
]

ROOT_URLCONF = "cascade_site.urls"
ASGI_APPLICATION = "cascade_site.asgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "cascade_site.context.workspace",
            ],
        },
    },
]

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STATIC_URL = "/static/"
STATIC_ROOT = CASCADE_DATA / "static"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # WhiteNoise warns of a folder that is not there
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = CASCADE_URL.startswith("https://")
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "cascade_site.errors.csrf_failure"

FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
DATA_UPLOAD_MAX_MEMORY_SIZE = CASCADE_MAX_JSON_BYTES
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env_text("CASCADE_LOG_LEVEL", "INFO")},
    "loggers": {
        # daphne's access log would show ?token= in clear.
        "daphne.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        "django.channels.server": {"handlers": [], "level": "CRITICAL", "propagate": False},
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        # It warns that a broker in a folder has no host name.
        "kombu.connection": {"level": "ERROR"},
    },
}

# Database ---------------------------------------------------------------------------------------------------------

_database_url = env_text("DATABASE_URL")
if _database_url:
    DATABASES = {"default": dj_database_url.parse(_database_url, conn_max_age=60, conn_health_checks=True)}
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(CASCADE_DATA / "cascade.sqlite3"),
            "CONN_MAX_AGE": None,
            # Deferred transactions that turn into writers fail with "database is locked" however long they may wait;
            # IMMEDIATE ones queue (measured: 36 failures in 504 writes from 8 processes without it, none with it).
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
            # A file in tests, too: threads that share a database in memory fail with "table is locked".
            "TEST": {"NAME": CASCADE_DATA / "test.sqlite3"},
        }
    }

# Storage ----------------------------------------------------------------------------------------------------------

if CASCADE_S3_BUCKET:
    from botocore.config import Config as S3ClientConfig

    _default_storage = {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": CASCADE_S3_BUCKET,
            "location": CASCADE_S3_PREFIX,
            "endpoint_url": CASCADE_S3_ENDPOINT,
            "default_acl": None,
            "file_overwrite": True,
            # Endpoints that are not AWS refuse the newer default checksums. A client_config replaces the
            # storage's own addressing and signature settings, so both are repeated in it.
            "client_config": S3ClientConfig(
                s3={"addressing_style": "path"},
                signature_version="s3v4",
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                retries={"max_attempts": 5, "mode": "standard"},
                connect_timeout=5,
                read_timeout=60,
            ),
        },
    }
else:
    _default_storage = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": CASCADE_DATA / "files", "file_permissions_mode": 0o640},
    }

STORAGES = {
    "default": _default_storage,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# Celery, Channels, events -----------------------------------------------------------------------------------------

REDIS_URL = env_text("REDIS_URL") or None
_broker_folder = CASCADE_DATA / "broker"

if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    # A task that outlasts this is handed out a second time; the claim makes that harmless, 12 hours make it rare.
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {"visibility_timeout": 12 * 3600}
    CHANNEL_LAYERS = {
        "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}
    }
else:
    for _folder in ("queue", "control"):
        (_broker_folder / _folder).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_URL = "filesystem://"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_broker_folder / "queue"),
        "data_folder_out": str(_broker_folder / "queue"),
        "control_folder": str(_broker_folder / "control"),
        "polling_interval": 0.1,
    }
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# However long the broker is away: Celery's own default gives up after about an hour.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 2, "interval_start": 0.1, "interval_max": 0.5}

EVENTSTREAM_STORAGE_CLASS = "runs.events.EventStore"

# API --------------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["cascade_site.auth.TokenAuthentication", "cascade_site.auth.PageSession"],
    "DEFAULT_PERMISSION_CLASSES": ["cascade_site.auth.HasToken"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["cascade_site.parsers.JsonObjectParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "cascade_site.errors.exception_handler",
    "DATETIME_FORMAT": "%Y-%m-%dT%H:%M:%S.%fZ",
    "STRICT_JSON": True,
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Cascade",
    "DESCRIPTION": "How fast would my GPU workload run on another GPU, and why?",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "OAS_VERSION": "3.1.0",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "cascade_site.openapi.complete",
    ],
}
