"""Features of the model's host that a project may allow its sandboxes."""

from enum import StrEnum


class ModelFeature(StrEnum):
    """A feature that reaches beyond the sandbox. Each is off unless the project's `model_features` names it."""

    WEB_SEARCH = "web_search"  #: the model's host searches the web
    WEB_FETCH = "web_fetch"  #: the model's host fetches pages
    CODE_EXECUTION = "code_execution"  #: the model's host runs code in its own container
    SKILLS = "skills"  #: skills that were uploaded to the model's host; they need code execution as well
    URL_SOURCES = "url_sources"  #: images and documents that the model's host fetches from a URL
    FILE_SOURCES = "file_sources"  #: files that were uploaded to the model's host
    MCP = "mcp"  #: MCP servers that the model's host calls
