// How much of a limit is used: a bar in parts, and the same in words for those who do not see it.
import styles from "./Meter.module.css";
import type { Tone } from "./Badge";

type Part = { value: number; tone: Tone; striped?: boolean };

/** `<Meter label="Used of the budget" parts={[{ value: 3, tone: "blue" }]} of={10} text="3 of 10" />` */
export function Meter({ parts, of, label, text }: { parts: Part[]; of: number; label: string; text: string }) {
  const used = parts.reduce((sum, part) => sum + part.value, 0);
  const whole = Math.max(of, used);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a meter element has one bar, and cannot be drawn in parts
    <div
      className={styles.meter}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={of}
      aria-valuenow={Math.min(used, of)}
      aria-valuetext={text}
    >
      {parts.map((part, index) => (
        <span
          key={index}
          className={styles.part}
          data-striped={part.striped || undefined}
          style={{
            width: `${whole > 0 ? (100 * part.value) / whole : 0}%`,
            ["--tone" as string]: `var(--${part.tone})`,
          }}
        />
      ))}
    </div>
  );
}
