"""The bucket's marker: made once, for a new catalog, and never for one that knows its bucket."""

import pytest

from common.adapters.folder.bucket import MARKER, Bucket, open_bucket
from common.domain.errors import DataFolderError, Unavailable


def test_a_new_catalog_makes_the_folder_and_marks_it_once(tmp_path):
    bucket = open_bucket(tmp_path / "x" / "bucket", None)
    assert (bucket.root / MARKER).read_text().strip() == bucket.id
    assert open_bucket(bucket.root, bucket.id) == bucket
    assert open_bucket(bucket.root, None) == bucket
    assert [path.name for path in bucket.root.iterdir()] == [MARKER]


def test_a_new_catalog_takes_a_folder_that_already_holds_files(tmp_path):
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme/a.md").write_text("x")
    assert open_bucket(tmp_path, None).id


def test_a_known_bucket_is_never_made_anew(tmp_path):
    for root in (tmp_path / "missing", tmp_path):
        with pytest.raises(DataFolderError, match=r"[Rr]estore"):
            open_bucket(root, "an id")
        assert list(tmp_path.iterdir()) == []
    other = open_bucket(tmp_path, None)
    with pytest.raises(DataFolderError, match=other.id):
        open_bucket(tmp_path, "an id")


def test_a_bucket_reached_by_a_link_is_the_folder_behind_it(tmp_path):
    bucket = open_bucket(tmp_path / "real", None)
    (tmp_path / "link").symlink_to(bucket.root)
    assert open_bucket(tmp_path / "link", bucket.id) == bucket


def test_a_root_that_is_a_file_says_so(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataFolderError):
        open_bucket(tmp_path / "file", None)


def test_a_missing_bucket_object_says_which(tmp_path):
    with pytest.raises(Unavailable, match="cannot be opened"), Bucket(tmp_path / "no", "id").top():
        pass
