from __future__ import annotations

import pytest

from specchat.settings.paths import sessions_db
from specchat.store import Store
from specchat.texts import CHATS, Collections
from support.stored import begun, said


@pytest.fixture
def chats() -> Collections:
    """A chat that was said, and a store of chats that has no index yet."""
    with Store.open(sessions_db()) as store:
        session = begun(store)
        question = said(store, session, "Where is Paris?")
        said(store, session, "In France, of course.", question, role="assistant")
    collections = Collections()
    collections.add(CHATS, [CHATS])
    return collections
