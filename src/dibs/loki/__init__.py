"""Loki's files: a queue kept as five JSON files below a `.loki` folder, brought into dibs and written from it.

    .loki/queue/pending.json, in-progress.json, completed.json, dead-letter.json, cancelled.json
    .loki/state/locks/queue.lock              flock: whoever reads or writes the five holds it
    .loki/config/circuit-breakers.yaml

`format` knows what the files say, `mapping` and `planning` what it means in dibs and back: they are pure. `folder`,
`writing` and `lock` touch the disk, `exporting` and `importing` the queue, through its public verbs only.
"""
