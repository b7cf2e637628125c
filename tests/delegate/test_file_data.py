"""Bytes that stay in a file."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest
import torch

from rushlight.delegate.file_data import FileBackedData
from rushlight.delegate.named_data import NamedDataStore
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import ScalarType

DATA = bytes(range(200))


def moved(folder: Path, name: str = "source") -> FileBackedData:
    (folder / name).write_bytes(DATA)
    return FileBackedData.move_from(str(folder / name))


def test_an_owned_file_is_removed(tmp_path: Path) -> None:
    with moved(tmp_path) as data:
        assert not (tmp_path / "source").exists() and len(list(tmp_path.iterdir())) == 1
        view = data.view()
    assert list(tmp_path.iterdir()) == [] and view == DATA
    with pytest.raises(FileNotFoundError):
        FileBackedData.move_from(str(tmp_path / "absent"))
    assert list(tmp_path.iterdir()) == []


def test_another_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(DATA)
    with FileBackedData(str(path)) as data:
        assert len(data) == 200 and data.prefix(3) == DATA[:3] and data.to_bytes() == DATA
        assert data.sha256() == hashlib.sha256(DATA).digest()
        out = io.BytesIO()
        data.write_to_file(out)
        assert out.getvalue() == DATA
    assert path.exists()
    path.write_bytes(b"")
    assert FileBackedData(str(path)).view() == b""


def test_stores_keep_equal_files_once(tmp_path: Path) -> None:
    with moved(tmp_path, "a") as first, moved(tmp_path, "b") as second:
        store, other = NamedDataStore(), NamedDataStore()
        store.add_named_data("a", first)
        store.add_named_data("c", DATA)
        other.add_named_data("b", second, external_tag="weights")
        store.merge_named_data_store(other.get_named_data_store_output())
        output = store.get_named_data_store_output()
        assert output.buffers == [first] and output.views[0] == DATA
        assert output.external_data["weights"]["b"].buffer_index == 0


def store_of(*keys: str) -> NamedDataStore:
    store = NamedDataStore()
    for key in keys:
        store.add_named_data(key, {"a": b"1234", "b": b"56", "c": b"1234", "d": b"7890"}[key])
    return store


def test_data_move_to_files_of_limited_size() -> None:
    store, other = store_of("a", "b", "c", "d"), store_of("d", "c", "b", "a")
    for each in (store, other):
        each.externalize_pte_data(6, "part")
    assert store.pte_data == {} and [sorted(file) for file in store.external_data.values()] == [
        ["a", "b", "c"],
        ["d"],
    ]
    assert list(store.external_data) == list(other.external_data)
    assert all(tag.startswith("part_") for tag in store.external_data)
    store.externalize_pte_data(6, "part")
    assert len(store.external_data) == 2


@pytest.mark.parametrize(
    ("size", "prefix", "message"),
    [
        (0, "p", "must be a positive integer"),
        (True, "p", "positive"),
        (6, "", "empty"),
        (3, "p", "'a' has 4 bytes, which exceeds external data shard cap"),
    ],
)
def test_limits_that_cannot_be_met(size: int, prefix: str, message: str) -> None:
    store = store_of("a", "b")
    with pytest.raises(ValueError, match=message):
        store.externalize_pte_data(size, prefix)
    assert set(store.pte_data) == {"a", "b"} and not store.external_data


def test_a_layout_of_another_tensor() -> None:
    with pytest.raises(ValueError, match=r"'a' has the sizes \[2, 2\], not \[4\]"):
        NamedDataStore().add_named_data(
            "a", torch.ones(2, 2), tensor_layout=TensorLayout(ScalarType.FLOAT, [4], [0])
        )


def test_layouts_of_tensors() -> None:
    store = NamedDataStore()
    store.add_named_data("rows", torch.ones(2, 3, dtype=torch.int32))
    image = torch.arange(120.0).reshape(1, 2, 6, 10).contiguous(memory_format=torch.channels_last)
    store.add_named_data("image", image)
    assert store.pte_data["rows"].tensor_layout == TensorLayout(ScalarType.INT, [2, 3], [0, 1])
    assert store.pte_data["image"].tensor_layout == TensorLayout(
        ScalarType.FLOAT, [1, 2, 6, 10], [0, 2, 3, 1]
    )
    assert store.buffers[1] == bytes(image.untyped_storage())
    with pytest.raises(ValueError, match=r"strides \[1, 2\]; use a tensor that is row-major"):
        store.add_named_data("columns", torch.ones(3, 2).t())


def test_a_file_with_other_data() -> None:
    store = store_of("a")
    store.externalize_pte_data(6, "part")
    (tag,) = store.external_data
    other = store_of("a")
    other.add_named_data("x", b"other", external_tag=tag)
    with pytest.raises(ValueError, match=f"external data tag collision: the file '{tag}' has other data"):
        other.externalize_pte_data(6, "part")
