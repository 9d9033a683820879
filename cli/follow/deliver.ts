import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { defaultResultFormat, resultsDirectory } from '../config/target.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { readJson } from '../output/json-text.js';
import type { Answer } from '../output/output.js';
import { type ResultFormat, renderResult } from '../output/result-format.js';
import { viewResult } from '../output/result-view.js';
import type { Followed } from './outcome.js';

export interface DeliveryOptions {
  output?: string;
  resultFormat?: ResultFormat;
}

/** The answer of a request whose statement the database accepted: text for people, files as asked for (CL-14 to CL-17). */
export function deliver(context: Context, followed: Followed, options: DeliveryOptions, note?: string): Answer {
  const { envelope, id } = followed;
  const notes = note === undefined ? {} : { note };
  if (envelope === null)
    return { data: JSON.stringify({ request_id: id, status: 'executed', result_stored: false }), human: () => 'OK\n', ...notes };
  const view = viewResult(readJson(envelope));
  if (view.truncated) context.output.warn(`the result is cut${view.truncationReason ? `: ${view.truncationReason}` : ''}`);
  keepCopy(context, id, envelope);
  if (options.output !== undefined) {
    const path = resolve(context.terminal.directory, options.output);
    const text = options.resultFormat === undefined ? envelope : renderResult(view, options.resultFormat, false);
    writeOutput(context.what, path, text);
    return {
      data: envelope,
      human: () => '',
      note: `result written to ${options.output}${note === undefined ? '' : `\n${note}`}`,
    };
  }
  const format = options.resultFormat ?? defaultResultFormat(context.layers());
  return { data: envelope, human: () => renderResult(view, format, context.terminal.stdout.isTTY === true), ...notes };
}

/** Replaces a file in one step: a temporary file beside it, then a rename; mode 0600 (CL-17). */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function writeOutput(what: string, path: string, text: string): void {
  try {
    replaceFile(path, text);
  } catch (error) {
    throw failure('internal_error', `${what}: the statement ran, but ${path} cannot be written (${reasonOf(error)})`);
  }
}

/** `[results] dir`: a failure is only a warning, because the result is shown anyway. */
function keepCopy(context: Context, id: string, envelope: string): void {
  const directory = resultsDirectory(context.layers());
  if (directory === null) return;
  const path = resolve(directory, `${id}.json`);
  if (dirname(path) !== resolve(directory)) return;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    chmodSync(directory, 0o700);
    replaceFile(path, envelope);
  } catch (error) {
    context.output.warn(`the result was not kept in ${directory} (${reasonOf(error)})`);
  }
}

function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown reason';
}
