import { type Logger, pino } from 'pino';
import { outliveLog } from '../lib/standard-error.js';
import { visibleJson } from '../lib/visible.js';

export interface LogOptions {
  process: 'server' | 'worker';
  version: string;
  level: 'error' | 'warn' | 'info' | 'debug';
  format: 'text' | 'json';
  /** Receives whole lines; default standard error. */
  write?: (line: string) => void;
}

/** Logs one line per event to standard error (OP-90): text for people, JSON for machines. */
export function createLog(options: LogOptions): Logger {
  outliveLog();
  const write = options.write ?? ((line) => process.stderr.write(line));
  const destination = { write: (line: string) => write(options.format === 'json' ? clean(line) : asText(line)) };
  return pino(
    {
      level: options.level,
      base: { process: options.process, version: options.version },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}

/** The same JSON. What a terminal would obey, or a reader take for the end of the line, is escaped (OP-92). */
const clean = (line: string) => `${visibleJson(line.trimEnd())}\n`;

/** `<time> <level> <msg> key=value …`. JSON quoting keeps it on one line whatever a value contains (OP-92). */
function asText(json: string): string {
  const { time, level, msg, process: _process, version: _version, ...rest } = JSON.parse(json) as Record<string, unknown>;
  const pairs = Object.entries(rest).map(([key, value]) => `${key}=${plain(value)}`);
  return `${[time, String(level).padEnd(5), plain(msg, true), ...pairs].join(' ')}\n`;
}

function plain(value: unknown, allowSpaces = false): string {
  const safe = allowSpaces ? /^[\x20-\x7e]*$/ : /^[\x21\x23-\x3c\x3e-\x7e]+$/;
  return typeof value === 'string' && safe.test(value) ? value : visibleJson(JSON.stringify(value ?? null));
}
