import type { ComponentProps, ReactNode, Ref } from "react";
import styles from "./Button.module.css";
import { cx } from "./classes";
import { Tooltip } from "./Tooltip";

type Look = "plain" | "primary" | "danger" | "quiet";

type ButtonProps = ComponentProps<"button"> & {
  look?: Look;
  small?: boolean;
  icon?: ReactNode;
  /** It is being done: cannot be pressed again. */
  busy?: boolean;
};

export function Button({
  look = "plain",
  small,
  icon,
  busy,
  children,
  className,
  disabled,
  type = "button",
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={cx(styles.button, styles[look], small && styles.small, className)}
    >
      {icon}
      {children}
    </button>
  );
}

type IconButtonProps = Omit<ComponentProps<"button">, "aria-label" | "children"> & {
  /** What it does, in words: its name and its tooltip. */
  label: string;
  icon: ReactNode;
  look?: Look;
  small?: boolean;
  pressed?: boolean;
  ref?: Ref<HTMLButtonElement>;
};

export function IconButton({
  label,
  icon,
  look = "quiet",
  small,
  pressed,
  className,
  type = "button",
  ...rest
}: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <button
        {...rest}
        type={type}
        aria-label={label}
        aria-pressed={pressed}
        className={cx(styles.button, styles.iconOnly, styles[look], small && styles.small, className)}
      >
        {icon}
      </button>
    </Tooltip>
  );
}
