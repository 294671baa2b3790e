"""Still pictures, made by the server as SVG: the geometry here, the drawing in ``templates/charts``."""
