import { once } from 'node:events';
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ExportFormat } from '../../domain/audit/export-format.js';
import { parseManifestLine } from '../../domain/audit/export-parse.js';
import { fileFault } from '../../lib/file-fault.js';
import { visibleJson, visibleLines } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { checkOutput } from '../follow/deliver.js';
import type { Answer } from '../output/output.js';
import { isStream } from '../whole-file.js';
import { type AuditFilterOptions, auditFilters } from './audit.js';

export interface AuditExportOptions extends AuditFilterOptions {
  as?: ExportFormat;
  output?: string;
}

/** Longer than the server lets a slow reader wait. */
const silenceMs = 90_000;
/** Longer than any manifest. */
const keptBytes = 64 * 1024;

/** `svc audit export`: the bytes as they come, to stdout or to a file that appears only when it is complete. */
export async function exportAudit(context: Context, _: readonly string[], options: AuditExportOptions): Promise<Answer> {
  const { what, output } = context;
  const { as: format = 'ndjson' } = options;
  if (output.mode !== 'human' && options.output === undefined)
    throw failure('usage', 'an export has many lines, but --format json prints one; add --output FILE');
  if (options.output !== undefined) checkOutput(context, { output: options.output });
  const query = { ...(await auditFilters(context, options)), format };
  const sink = options.output === undefined ? stdoutSink(context, format) : fileSink(context, options.output);
  let tail: Buffer = Buffer.alloc(0);
  try {
    await context.client().call({
      method: 'GET',
      path: ['api', 'audit', 'export'],
      query,
      timeoutMs: silenceMs,
      async onPart(part) {
        tail = Buffer.concat([tail, part]).subarray(-keptBytes);
        await sink.write(part);
      },
    });
    const line = tail.subarray(tail.lastIndexOf(0x0a, tail.length - 2) + 1).toString('utf8');
    const manifest = parseManifestLine(format, line);
    if (manifest === null) throw failure('network_error', `${what}: the export ended before its manifest`, { hint: 'try again' });
    sink.end();
    return {
      data: JSON.stringify({ manifest, ...(options.output === undefined ? {} : { output: options.output }) }),
      human: () => '',
      note: `${manifest.count} events${options.output === undefined ? '' : ` written to ${options.output}`}`,
    };
  } catch (error) {
    sink.discard();
    throw error;
  }
}

interface Sink {
  write(part: Uint8Array): Promise<void> | void;
  end(): void;
  discard(): void;
}

function stdoutSink({ terminal: { stdout }, signal }: Context, format: ExportFormat): Sink {
  const shown = stdout.isTTY === true ? shownLines(format) : (part: Uint8Array) => part;
  return {
    write: async (part) => {
      if (!stdout.write(shown(part))) await once(stdout, 'drain', { signal });
    },
    end: () => undefined,
    discard: () => undefined,
  };
}

/** On a terminal: whole lines, with everything in them made visible that could steer it (CL-13). */
function shownLines(format: ExportFormat): (part: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const show = format === 'csv' ? visibleLines : visibleJson;
  let rest = '';
  return (part) => {
    const text = rest + decoder.decode(part, { stream: true });
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    return show(text.slice(0, end));
  };
}

/** Written beside its place and renamed, readable by its owner only, as results are (CL-17); a stream is written to. */
function fileSink({ terminal, what }: Context, output: string): Sink {
  const path = resolve(terminal.directory, output);
  const isPassed = isStream(path);
  const temporary = isPassed ? path : `${path}.${process.pid}.tmp`;
  let file: number | null = null;
  let isMade = false;
  const close = () => {
    if (file !== null) closeSync(file);
    file = null;
  };
  const told = (work: () => void) => {
    try {
      work();
    } catch (error) {
      throw failure('usage', `${what}: ${path} cannot be written (${fileFault(error)})`);
    }
  };
  return {
    write: (part) =>
      told(() => {
        file ??= openSync(temporary, isPassed ? 'a' : 'wx', 0o600);
        isMade = !isPassed;
        for (let at = 0; at < part.byteLength; ) at += writeSync(file, part, at);
      }),
    end: () =>
      told(() => {
        close();
        if (isMade) renameSync(temporary, path);
      }),
    discard() {
      close();
      // Another's file of this name stays.
      if (isMade) rmSync(temporary, { force: true });
    },
  };
}
