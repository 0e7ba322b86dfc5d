import { Archive, ArrowUpRight, PencilLine, RotateCw, Trash2 } from "lucide-react";
import { Badge, type Tone } from "../../ui";

const LOOKS: Record<string, { tone: Tone; icon: typeof Archive; word: string }> = {
  retried: { tone: "blue", icon: RotateCw, word: "retried" },
  retried_modified: { tone: "cyan", icon: PencilLine, word: "retried, modified" },
  dropped: { tone: "gray", icon: Trash2, word: "dropped" },
  escalated: { tone: "amber", icon: ArrowUpRight, word: "escalated" },
  kept: { tone: "gray", icon: Archive, word: "kept" },
};

/** What was decided: word, colour and shape. */
export function Resolved({ resolution }: { resolution: string }) {
  const look = LOOKS[resolution];
  if (!look) return <Badge>{resolution}</Badge>;
  const { tone, icon: Icon, word } = look;
  return (
    <Badge tone={tone} icon={<Icon aria-hidden />}>
      {word}
    </Badge>
  );
}
