import { visible, visibleJson } from '../lib/visible.js';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;
export type Log = Record<LogLevel, (message: string, fields?: LogFields) => void>;

const ranks: Record<LogLevel, number> = { error: 0, warn: 1, info: 2, debug: 3 };

/** Logs single lines, as text or JSON; callers keep tokens, URLs and SQL out (AP-03). */
export function createLog(options: { level: LogLevel; format: 'text' | 'json' }, write: (line: string) => void): Log {
  const writer =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (ranks[level] > ranks[options.level]) return;
      const time = new Date().toISOString();
      write(options.format === 'json' ? quoted({ time, level, message, ...fields }) : textLine(time, level, message, fields));
    };
  return { error: writer('error'), warn: writer('warn'), info: writer('info'), debug: writer('debug') };
}

/** Texts of a database hold what requesters wrote: none may steer the terminal that shows the log, or end its line (OP-92). */
const quoted = (value: unknown) => visibleJson(JSON.stringify(value));

function textLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${typeof value === 'string' && /[^\w.:/@+-]/.test(value) ? quoted(value) : value}`);
  return `${time} ${level.padEnd(5)} ${visible(message.replace(/\p{Cc}/gu, ' '))}${pairs.join('')}`;
}

/** Logs the first three failures in a row, then one summary every `everyMs` (AP-04, AP-82). */
export function createFailureLog(log: Log, everyMs: number) {
  let failures = 0;
  let lastLine = 0;
  return {
    failed(message: string, fields: LogFields = {}): void {
      failures++;
      if (failures > 3 && Date.now() - lastLine < everyMs) return;
      lastLine = Date.now();
      log.warn(message, { ...fields, failures });
    },
    succeeded(): void {
      failures = 0;
    },
    get count(): number {
      return failures;
    },
  };
}
