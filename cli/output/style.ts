/** What a style knows of the terminal that it is for. */
export interface Screen {
  readonly columns: number;
  /** Milliseconds, for what is shown relative to it. */
  now(): number;
  /** A column was left out for want of room; null: a cell was cut. */
  onCut(column: string | null): void;
}

export interface Style {
  readonly colours: boolean;
  readonly isTerminal: boolean;
  /** Infinite where no line wraps. */
  readonly columns: number;
  now(): number;
  /** Tells that a column was left out for want of room; without one, that a cell was cut. */
  tellCut(column?: string): void;
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  blue(text: string): string;
  magenta(text: string): string;
  cyan(text: string): string;
}

/** Colours when `colours` is set, else the texts as they are. `screen` is given for a terminal only. */
export function createStyle(colours: boolean, screen?: Screen): Style {
  const paint = (open: number, close: number) => (text: string) =>
    colours && text !== '' ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    colours,
    isTerminal: screen !== undefined,
    columns: screen?.columns ?? Number.POSITIVE_INFINITY,
    now: () => screen?.now() ?? 0,
    tellCut: (column) => screen?.onCut(column ?? null),
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    blue: paint(34, 39),
    magenta: paint(35, 39),
    cyan: paint(36, 39),
  };
}

/** The style for text that is indented by this many columns. */
export const indentedStyle = (style: Style, by: number): Style => ({ ...style, columns: style.columns - by });

/** Colours only on a terminal that supports them, and never with NO_COLOR (any text) or `--no-color` (CL-13). */
export function wantsColour(
  stream: { isTTY?: boolean },
  environment: Record<string, string | undefined>,
  noColor: boolean,
): boolean {
  return stream.isTTY === true && !noColor && !environment.NO_COLOR && environment.TERM !== 'dumb';
}

/** The status in its colour: waiting yellow, moving blue, done green, failed red, over dim. */
export function paintStatus(style: Style, status: string): string {
  const colour = statusColours[status];
  return colour === undefined ? status : style[colour](status);
}

/** Colours the cells of one table column by the status they hold; padding is kept. */
export function statusPainter(style: Style, rows: readonly (readonly string[])[], column: number) {
  return (padded: string, row: number, at: number): string => {
    const status = rows[row]?.[column] ?? '';
    return at === column ? padded.replace(status, paintStatus(style, status)) : padded;
  };
}

const statusColours: Record<string, 'yellow' | 'cyan' | 'green' | 'red' | 'dim' | 'blue'> = {
  pending: 'yellow',
  approved: 'cyan',
  dispatched: 'blue',
  running: 'blue',
  executed: 'green',
  failed: 'red',
  execution_lost: 'red',
  rejected: 'red',
  cancelled: 'dim',
  expired: 'dim',
  active: 'green',
  revoked: 'dim',
  suspended: 'red',
  success: 'green',
  denied: 'red',
  failure: 'red',
  in_progress: 'blue',
  delivered: 'green',
  dead: 'red',
};
