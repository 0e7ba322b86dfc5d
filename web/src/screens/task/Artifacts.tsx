// What the work left behind. Bytes are only ever downloaded: the server sends them as attachments.
import { Download } from "lucide-react";
import type { Schemas } from "../../api";
import { Ago, bytes, CopyButton, Text } from "../../ui";
import styles from "./Task.module.css";

type Artifact = Schemas["Artifact"];

export function Artifacts({ artifacts }: { artifacts: readonly Artifact[] }) {
  if (artifacts.length === 0)
    return <p className="muted">None. Files that the work keeps beside its output show here.</p>;
  return (
    <ul className={styles.list}>
      {artifacts.map((artifact) => (
        <li key={artifact.name} className={styles.listRow}>
          <div className={styles.grow}>
            <Text lines={1}>{artifact.name}</Text>
            <p className="muted">
              {bytes(artifact.size)}
              {artifact.media_type ? <> · {artifact.media_type}</> : null} · <Ago at={artifact.put_at ?? null} />
            </p>
          </div>
          <CopyButton text={artifact.digest} label="Copy digest" />
          <a
            className={styles.download}
            href={`/v1/artifacts?ref=${encodeURIComponent(artifact.digest)}`}
            download={fileName(artifact.name)}
          >
            <Download aria-hidden /> Download
            <span className="visually-hidden"> {artifact.name}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** The name under which it is kept on disk: its last part, without what a disk would not take. */
function fileName(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is taken out
  return (name.split(/[\\/]/).at(-1) ?? "").replace(/[\u0000-\u001f<>:"|?*]/g, "_").slice(0, 120) || "artifact";
}
