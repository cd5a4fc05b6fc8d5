"""A client for Signalbox, the tool runtime for AI agents. Standard library only, Python 3.9 and later."""

from .client import API_VERSION, Client
from .errors import SignalboxError
from .stream import StreamEvent
from .transport import OMIT, Omitted

__version__ = API_VERSION
__all__ = ["API_VERSION", "OMIT", "Client", "Omitted", "SignalboxError", "StreamEvent"]
