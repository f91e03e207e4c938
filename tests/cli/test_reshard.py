"""``ckptplan reshard`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from ckptplan.render.schemas import output_schema
from tests.cli.harness import ckptplan

OWN = Path(__file__).parents[1] / "checkpoint" / "fixtures"
WHOLE = OWN / "dcp-3rank"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "tie_word_embeddings": False,
    "max_position_embeddings": 64,
}


@pytest.fixture
def copied(tmp_path):
    """A checkpoint of one's own, without some files."""

    def copy(*without, of=WHOLE):
        folder = tmp_path / "step-2"
        shutil.copytree(of, folder)
        for name in without:
            (folder / name).unlink()
        return folder

    return copy


@pytest.fixture
def config(tmp_path):
    """The configuration of a small model."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    return path


def document(told):
    """The JSON that a command printed, held against its schema."""
    found = json.loads(told.out)
    jsonschema.validate(found, output_schema("reshard"))
    return found


def test_the_answer_comes_first(tell):
    """Whether it loads, on how many ranks, how many bytes and how long."""
    told = tell("reshard", str(WHOLE), "--to", "2", "--read-bandwidth", "1 MB/s")
    assert told.code == 0
    first = told.out.splitlines()[0]
    assert first.startswith(f"{WHOLE} will load on 2 ranks (fsdp 2): a rank reads at most ")
    assert "and the load takes 72.5 ms" in first
    assert "restart: {load: 0.0726 s}" in told.out
    assert "What is not carried over" in told.out
    assert "random-number states: states of 3 ranks for 2: that of rank 2 is dropped without a word" in told.out


def test_a_load_of_everything_that_would_end_is_said_first_and_exits_with_three(tell):
    """The weights load, states of single ranks do not; without these the exit code is 0 again."""
    arguments = ("reshard", str(WHOLE), "--to", "5")
    told = tell(*arguments)
    assert told.code == 3
    where = "ends at the random-number states and data position of ranks 3 and 4"
    first = told.out.splitlines()[0]
    assert first.startswith(f"{WHOLE}: the weights load on 5 ranks (fsdp 5), but a load of everything as saved {where}")
    assert f"error: a load of everything as saved {where}\n" in told.err
    assert "--without random,data-position" in told.err
    found = document(tell(*arguments, "--format", "json"))
    assert (found["loads"], found["loads_as_saved"], found["without"]) == (True, False, [])
    assert [one["ends"] for one in found["not_carried"]] == [True, True]
    left = tell(*arguments, "--without", "random,data-position")
    assert (left.code, left.err) == (0, "")
    assert "will load on 5 ranks (fsdp 5) without data-position, random:" in left.out.splitlines()[0]
    found = document(tell(*arguments, "--without", "random", "--without", "data-position", "--format", "json"))
    assert (found["loads_as_saved"], found["without"]) == (True, ["data-position", "random"])


def test_states_that_are_left_out_are_not_read(tell):
    """Moments left out are no reads; a kind that is not there is said to be without effect."""
    arguments = ("reshard", str(WHOLE), "--to", "2", "--format", "json")
    whole = document(tell(*arguments))
    part = document(tell(*arguments, "--without", "first-moments,second-moments"))
    assert part["ways"][0]["total_bytes"] == whole["ways"][0]["total_bytes"] - 2 * 232
    assert {"first moments", "second moments"} < {one["state"] for one in part["not_carried"]}
    told = tell(*arguments, "--without", "fp8")
    assert told.code == 0
    assert "--without fp8: there is no such state in it" in told.err


def test_the_line_to_paste_is_read_by_the_spec(tell, tmp_path):
    """Pasted into a starter, it is the load time."""
    told = tell("reshard", str(WHOLE), "--to", "2", "--read-bandwidth", "10 kB/s")
    line = next(line for line in told.out.splitlines() if line.startswith("restart:"))
    rest = "cluster: {gpus: 8}\nmodel: {parameters: 1e9}\nfailures: {mtbf: 400 d}\n"
    saved = "save: [{name: sharded, mode: sharded, stall: 5 s}]\n"
    (tmp_path / "run.yaml").write_text(f"{rest}{saved}{line}\n")
    shown = json.loads(tell("spec", "show", str(tmp_path / "run.yaml"), "--format", "json").out)
    assert {value["key"]: value["value"] for value in shown["values"]}["restart.load"] == 7.26


def test_every_rank_is_in_the_json(tell):
    """Sums over ranks are the totals; the reads are there only when asked for."""
    found = document(tell("reshard", str(WHOLE), "--to", "fsdp=3,tp=2", "--format", "json"))
    assert found["layout"]["ranks"] == 6
    assert sum(found["ranks"]["wanted_bytes"]) == found["ways"][0]["total_bytes"]
    assert sum(found["ranks"]["files"]) == found["files_opened"]
    assert found["reads"] is None
    assert found["loads"]


def test_the_reads_of_one_rank_are_those_of_all(tell):
    """The same file, places and boxes, in both forms of the JSON; their bytes add up."""
    arguments = ("reshard", str(WHOLE), "--to", "2", "--format", "json")
    of_all = document(tell(*arguments, "--reads"))["reads"]
    for rank in range(2):
        found = document(tell(*arguments, "--rank", str(rank)))
        one = found["reads"]["reads"]
        assert sum(one["bytes"]) == found["ranks"]["wanted_bytes"][rank]
        assert sum(run[1] * run[3] for runs in one["runs"] for run in runs) == found["ranks"]["wanted_bytes"][rank]
        listed = [
            (tensor["key"], *cells)
            for tensor in of_all["tensors"]
            if rank in tensor["ranks"]
            for number, *cells in zip(
                tensor["reads"]["class"],
                *(map(json.dumps, tensor["reads"][name]) for name in ("item_offset", "src", "dst", "length", "runs")),
                strict=True,
            )
            if number == tensor["classes"][tensor["ranks"].index(rank)]
        ]
        keys = [found["reads"]["keys"][key] for key in one["key"]]
        columns = (map(json.dumps, one[name]) for name in ("item_offset", "src", "dst", "length", "runs"))
        assert listed == list(zip(keys, *columns, strict=True))


def test_csv_has_one_row_per_rank_or_per_run(tell):
    """Machine names as the header."""
    rows = list(csv.DictReader(io.StringIO(tell("reshard", str(WHOLE), "--to", "4", "--format", "csv").out)))
    assert [row["rank"] for row in rows] == ["0", "1", "2", "3"]
    arguments = ("reshard", str(WHOLE), "--to", "4", "--rank", "1", "--format", "csv")
    reads = list(csv.DictReader(io.StringIO(tell(*arguments).out)))
    assert sum(int(row["run_bytes"]) * int(row["times"]) for row in reads) == int(rows[1]["wanted_bytes"])
    assert {row["file"] for row in reads} <= {"__0_0.distcp", "__1_0.distcp", "__2_0.distcp"}


def test_markdown_begins_with_the_answer(tell):
    """A heading, then tables."""
    out = tell("reshard", str(WHOLE), "--to", "2", "--rank", "0", "--format", "markdown").out
    assert out.startswith(f"## {WHOLE} will load on 2 ranks")
    assert "| tensor | to | size | file |" in out


def test_narrow_screens_cut_nothing(tell, monkeypatch):
    """At 60 columns no line is longer, and every place of every read is still there."""
    wide = tell("reshard", str(WHOLE), "--to", "2", "--rank", "1").out
    monkeypatch.setenv("COLUMNS", "60")
    narrow = tell("reshard", str(WHOLE), "--to", "2", "--rank", "1").out
    longest = max(len(word) for word in narrow.split())
    assert max(len(line) for line in narrow.splitlines()) <= max(60, longest + 4)
    assert narrow.count("optim.state.0.weight.exp_avg") == wide.count("optim.state.0.weight.exp_avg")


def test_a_layout_file_says_where_tensors_lie(tell, tmp_path):
    """Its rules count before names; its faults have their lines."""
    path = tmp_path / "layout.yaml"
    path.write_text('mesh: "fsdp=2"\nplacements:\n  "*": ["R"]\n')
    found = document(tell("reshard", str(WHOLE), "--layout-file", str(path), "--format", "json"))
    assert found["ranks"]["wanted_bytes"][0] == found["ranks"]["wanted_bytes"][1] > 500
    path.write_text('mesh: "fsdp=2"\nplacements:\n  "*": ["S(7)", "R"]\n')
    told = tell("reshard", str(WHOLE), "--layout-file", str(path))
    assert told.code == 1
    assert f"{path}:3:3" in told.err


def test_faults_of_a_layout_file_against_the_checkpoint_have_their_lines(tell, tmp_path):
    """A cut of axes that are not there once for all tensors of the rule; keys and shapes that differ."""
    path = tmp_path / "layout.yaml"
    path.write_text(
        'mesh: fsdp=2\nplacements:\n  "model.?.weight": ["S(5)"]\n  "model.0.bias": {shape: [4]}\n  nobody: ["R"]\n'
    )
    told = tell("reshard", str(WHOLE), "--layout-file", str(path))
    assert told.code == 1
    assert f"{path}:4:20: model.0.bias: is [" in told.err
    assert f"{path}:5:3: nobody: the checkpoint has no tensor of this key" in told.err
    path.write_text('mesh: fsdp=2\nplacements:\n  "model.?.weight": ["S(5)"]\n')
    told = tell("reshard", str(WHOLE), "--layout-file", str(path))
    assert f"{path}:3:3: model.?.weight: axis 5 is cut of a tensor that has 2 axes: 6 tensors, such as" in told.err
    assert told.err.count("axis 5") == 1
    path.write_text("mesh: {pp: 2, fsdp: 2}\nlayers_per_stage: [5, 5]\n")
    told = tell("reshard", str(WHOLE), "--layout-file", str(path))
    assert "layers_per_stage is without effect: no tensor has a layer number" in told.out


def test_without_data_files_the_plan_is_made_of_items(tell, copied):
    """The metadata alone says which items every rank reads, and that places within them are not known."""
    alone = copied("__0_0.distcp", "__1_0.distcp", "__2_0.distcp")
    found = document(tell("reshard", str(alone), "--to", "2", "--rank", "0", "--format", "json"))
    whole = document(tell("reshard", str(WHOLE), "--to", "2", "--rank", "0", "--format", "json"))
    assert found["ranks"] == whole["ranks"]
    assert set(found["reads"]["reads"]["runs"]) == {None}
    names = [[one["reads"]["files"][file] for file in one["reads"]["reads"]["file"]] for one in (found, whole)]
    assert names[0] == names[1]
    assert found["reads"]["reads"]["item_offset"] == whole["reads"]["reads"]["item_offset"]
    assert not found["requests_exact"]
    assert any("none of the data files is here" in remark for remark in found["remarks"])


def test_a_missing_file_is_an_error_that_names_it_first(tell, copied):
    """Then what would be missing."""
    told = tell("reshard", str(copied("__1_0.distcp")), "--to", "2")
    assert (told.code, told.out) == (1, "")
    assert "__1_0.distcp" in told.err.splitlines()[0]
    assert "stored in no file" in told.err


def test_a_file_that_is_cut_off_exits_with_three(tell, copied):
    """The plan is printed, with why it will not load."""
    folder = copied()
    path = folder / "__2_0.distcp"
    path.write_bytes(path.read_bytes()[:30_000])
    told = tell("reshard", str(folder), "--to", "2")
    assert told.code == 3
    assert "will not load as it is" in told.out
    assert "Why it will not load\n  - __2_0.distcp" in told.out
    assert "error: this will not load: __2_0.distcp" in told.err


def test_from_no_folder_at_all(tell, config):
    """A model and the layout that would save it: every byte of its states is read once where nothing is replicated."""
    parameters = 2 * 64 * 16 + 16 + 4 * (4 * 16 * 16 + 3 * 16 * 32 + 2 * 16)
    arguments = ("--model", str(config), "--from", "fsdp=8", "--to", "3", "--format", "json")
    found = document(tell("reshard", *arguments))
    assert found["ways"][0]["total_bytes"] == found["ways"][1]["total_bytes"] - _shared(found) == 14 * parameters
    assert found["saved_by"] == "fsdp=8"
    assert found["format"] is None
    told = tell("reshard", "--model", str(config), "--from", "fsdp=8,tp=2", "--to", "pp=2,fsdp=3")
    assert "no checkpoint was read: it is taken to be saved by fsdp=8,tp=2" in told.out


def _shared(found):
    """Bytes of items that several ranks read, beyond the first."""
    return found["ways"][1]["total_bytes"] - found["ways"][0]["total_bytes"]


def test_bandwidths_come_from_a_spec_or_an_option(tell, config, tmp_path):
    """The option counts before the spec; the nodes are those of the spec."""
    spec = tmp_path / "run.yaml"
    spec.write_text(
        "cluster: {gpus: 8, gpus_per_node: 2}\nmodel: {config: config.json}\n"
        "storage: {read_bandwidth: 1 MB/s}\nrestart: {load: auto}\nfailures: {mtbf: 400 d}\n"
        "save: [{name: sharded, mode: sharded, stall: 5 s}]\n"
    )
    base = ("reshard", "--model", str(spec), "--from", "8", "--to", "4", "--format", "json")
    found = document(tell(*base))
    ways = found["ways"][1]
    assert found["gpus_per_node"] == 2
    assert ways["time_s"] == pytest.approx(ways["total_bytes"] / 1e6)
    slower = document(tell(*base, "--read-bandwidth-per-node", "100 kB/s"))["ways"][1]
    assert slower["time_s"] == pytest.approx(ways["busiest_node_bytes"] / 1e5)
    assert slower["binds"] == "read bandwidth of the busiest node"
    other = ("reshard", str(WHOLE), "--to", "2", "--spec", str(spec), "--read-bandwidth", "1 kB/s", "--format", "json")
    ways = document(tell(*other))["ways"][1]
    assert ways["time_s"] == pytest.approx(ways["total_bytes"] / 1e3)


def test_the_layout_of_a_spec_is_the_one_that_saves(tell, config, tmp_path):
    """Where the spec shards the parameters; a config.json alone has no layout."""
    spec = tmp_path / "run.yaml"
    text = (
        "cluster: {{gpus: 16, layout: {{data: 4, tensor: 2, pipeline: 2, shard: {}}}}}\n"
        "model: {{config: config.json}}\nrestart: {{total: 5 min}}\n"
        "failures: {{mtbf: 400 d}}\nsave: [{{name: a, mode: sharded, stall: 5 s}}]\n"
    )
    spec.write_text(text.format("fsdp"))
    base = ("reshard", "--to", "4", "--format", "json", "--model")
    by_spec = document(tell(*base, str(spec)))
    assert by_spec["saved_by"] == "pp=2,fsdp=4,tp=2"
    given = document(tell(*base, str(config), "--from", "pp=2,fsdp=4,tp=2"))
    assert given["ranks"] == by_spec["ranks"]
    spec.write_text(text.format("zero1"))
    assert "no place for single tensors" in tell(*base, str(spec)).err
    assert "no layout of the run that would save" in tell(*base, str(config)).err


def test_a_signal_leaves_nothing_half_written(tmp_path):
    """SIGTERM in the middle of a write: no file, nothing aside; the exit code is that of an interruption."""
    program = (
        "import os, signal, sys\n"
        "from ckptplan.checkpoint.writing import single as writing\n"
        "from ckptplan.cli.edge import run\n"
        "write = writing.SafetensorsWriter.write\n"
        "def stopped(self, name, start, data):\n"
        "    write(self, name, start, data)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "writing.SafetensorsWriter.write = stopped\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    out = tmp_path / "model.safetensors"
    arguments = [sys.executable, "-c", program, "reshard", str(WHOLE), "--extract", str(out)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_the_global_batch_is_divided(tell):
    """Possible micro-batches, or the nearest numbers of ranks that have some."""
    found = document(tell("reshard", str(WHOLE), "--to", "4", "--global-batch", "24", "--format", "json"))
    assert found["batch"]["splits"] == [
        {"micro_batch": 6, "micro_batches": 1},
        {"micro_batch": 3, "micro_batches": 2},
        {"micro_batch": 2, "micro_batches": 3},
        {"micro_batch": 1, "micro_batches": 6},
    ]
    told = tell("reshard", str(WHOLE), "--to", "5", "--global-batch", "24")
    assert "cannot be divided evenly: 4 or 6 data-parallel ranks can" in told.out


def test_tensors_are_extracted(tell, tmp_path):
    """The model by default, other states when named; the file is whole, and the report names it."""
    out = tmp_path / "model.safetensors"
    told = tell("reshard", str(WHOLE), "--extract", str(out))
    assert told.code == 0
    assert told.out.startswith(f"{out}: 4 tensors, 232 B, from {WHOLE} (torch DCP, step 2)")
    assert "the checksums of the records in 3 files are right" in told.out
    raw = out.read_bytes()
    head = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert {key for key in head if key != "__metadata__"} == {
        "model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias",
    }  # fmt: skip
    arguments = ("reshard", str(WHOLE), "--extract", str(out), "--kind", "first-moments", "--format", "json")
    refused = tell(*arguments)
    assert (refused.code, refused.out, out.read_bytes()) == (1, "", raw)
    assert "is there already" in refused.err
    found = json.loads(tell(*arguments, "--overwrite").out)
    jsonschema.validate(found, output_schema("extraction"))
    assert found["schema"] == "ckptplan.extraction/1"
    assert {tensor["kind"] for tensor in found["tensors"]} == {"first moments"}
    assert found["checksums"] == {"files_compared": 3, "files_without": []}
    told = tell("reshard", str(out), "--extract", str(tmp_path / "again.safetensors"), "--kind", "first-moments")
    assert "no checksums were compared: .safetensors files have no checksums" in told.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "no new layout"),
        (("--to", "2", "--layout-file", "x"), 2, "both --to and --layout-file"),
        (("--to", "fdsp=2"), 2, "did you mean fsdp"),
        (("--to", "0"), 2, "not a number of ranks"),
        (("--to", ""), 2, "not a number of ranks"),
        (("--to", "9" * 400), 2, "not a number of ranks"),
        (("--to", "2", "--from", "4"), 2, "PATH and --from exclude each other"),
        (("--to", "2", "--model", "x"), 2, "PATH and --model exclude each other"),
        (("--to", "2", "--rank", "2"), 2, "ranks 0 to 1"),
        (("--to", "2", "--rank", "-1"), 2, "--rank"),
        (("--to", "2", "--reads"), 2, "as JSON only"),
        (("--to", "2", "--reads", "--rank", "0", "--format", "json"), 2, "--rank one\n  hint: leave one"),
        (("--to", "2", "--keys", "x"), 2, "--extract"),
        (("--to", "2", "--overwrite"), 2, "--extract"),
        (("--to", "2", "--without", "moments"), 2, "--without"),
        (("--extract", "x.safetensors", "--without", "random"), 2, "exclude each other"),
        (("--to", "2", "--read-bandwidth", "40"), 2, "no unit"),
        (("--to", "2", "--read-bandwidth", "0 B/s"), 2, "not between"),
        (("--to", "2", "--read-bandwidth-per-rank", "nan B/s"), 2, "--read-bandwidth-per-rank"),
        (("--to", "2", "--gpus-per-node", "0"), 2, "--gpus-per-node"),
        (("--to", "2", "--global-batch", "0"), 2, "--global-batch"),
        (("--to", "2", "--set", "a=b"), 2, "--set needs --spec"),
        (("--to", "2", "--spec", "no-such-spec"), 1, "neither a file nor a shipped config"),
        (("--layout-file", "no-such-file"), 1, "no-such-file"),
        (("--layout-file", "/dev/null"), 1, "/dev/null"),
        (("--layout-file", "."), 1, "."),
        (("--extract", "x.safetensors", "--to", "2"), 2, "exclude each other"),
        (("--extract", "x.safetensors", "--keys", "nothing*"), 1, "no key fits nothing*"),
        (("--extract", "x.safetensors", "--kind", "moments"), 2, "--kind"),
        (("--extract", "no/such/folder/x.safetensors"), 2, "there is no folder"),
        (("--extract", "report.json"), 2, "tensors are written as safetensors"),
        (("--extract", "model.pt"), 2, "tensors are written as safetensors"),
        (("--extract", "model.SAFETENSORS"), 2, "name a file that ends in .safetensors"),
    ],
)
def test_what_is_asked_wrongly_is_one_clear_message(tell, tmp_path, monkeypatch, arguments, code, said):
    """No traceback, no file."""
    monkeypatch.chdir(tmp_path)
    told = tell("reshard", str(WHOLE), *arguments)
    assert (told.code, told.out) == (code, "")
    assert said in told.err
    assert "Traceback" not in told.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to", "2"), "no checkpoint"),
        (("--from", "2", "--to", "2"), "no checkpoint"),
        (("--extract", "x.safetensors"), "--extract needs a checkpoint"),
        (("--model", "llama3-70b", "--from", "fsdp=2", "--to", "3"), "not the tensors"),
        (("--model", "llama3-70b", "--to", "3"), "not the tensors"),
        (("--model", "no-such", "--from", "fsdp=2", "--to", "3"), "neither a file nor a shipped config"),
        (("--model", "no.json", "--from", "fsdp=2", "--to", "3"), "cannot be read"),
        (("--model", "llama3-70b", "--from", "fsdp=x", "--to", "3"), "--from fsdp=x"),
    ],
)
def test_without_a_checkpoint_a_model_and_its_layout_are_needed(tell, arguments, said):
    """Each of them, and a model that knows its tensors."""
    told = tell("reshard", *arguments)
    assert told.code in (1, 2)
    assert told.out == ""
    assert said in told.err


def test_results_are_never_written_into_the_checkpoint(tell, copied, config):
    """Neither a report nor tensors, over a file of it or beside one; nor over what was read."""
    folder = copied()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for output in (folder / "__0_0.distcp", folder / ".metadata", folder / "new"):
        assert tell("reshard", str(folder), "--to", "2", "-o", str(output)).code in (1, 2)
        assert tell("reshard", str(folder), "--extract", str(output)).code in (1, 2)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert tell("reshard", "--model", str(config), "--from", "2", "--to", "3", "-o", str(config)).code == 2
    assert json.loads(config.read_text()) == CONFIG


def test_output_is_written_whole(tell, tmp_path):
    """What -o writes is what is printed."""
    path = tmp_path / "plan.json"
    arguments = ("reshard", str(WHOLE), "--to", "2", "--format", "json")
    assert tell(*arguments, "-o", str(path)).out == ""
    assert path.read_text() == tell(*arguments).out


def test_no_escape_reaches_a_pipe_and_none_a_terminal_from_a_name(tmp_path):
    """In a process of its own: a name with an escape in it is shown without."""
    folder = tmp_path / "step-\x1b[31m2"
    shutil.copytree(WHOLE, folder)
    ran = ckptplan("reshard", str(folder), "--to", "5", "--rank", "1", env={"COLUMNS": "60", "NO_COLOR": "1"})
    assert ran.code == 3
    assert "\x1b" not in ran.out + ran.err
    assert not Path("CKPTPLAN_PICKLE_EXECUTED").exists()
