import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileFault } from '../../lib/file-fault.js';
import { compactJson, type JsonText, readJson } from '../../lib/json/read.js';
import { viewResult } from '../../lib/result-view.js';
import { visibleJson } from '../../lib/visible.js';
import { defaultResultFormat, resultsDirectory } from '../config/target.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { renderMigration, viewMigration } from '../output/migration-result.js';
import type { Answer } from '../output/output.js';
import { type ResultFormat, renderResult } from '../output/result-format.js';
import { createStyle, type Style } from '../output/style.js';
import { isStream, writeWhole } from '../whole-file.js';
import type { Followed } from './outcome.js';

export interface DeliveryOptions {
  output?: string;
  resultFormat?: ResultFormat;
  /** Migration names by version, when the files are available. */
  names?: ReadonlyMap<string, string>;
}

/** Before anything runs: whether the file of `--output` can be written. */
export function checkOutput({ terminal, what }: Context, { output }: DeliveryOptions): void {
  if (output === undefined) return;
  const path = resolve(terminal.directory, output);
  let isFolder = false;
  try {
    // Only with the slash is a file in the place of the folder an error on every Node.
    accessSync(isStream(path) ? path : `${dirname(path)}/`, constants.W_OK);
    isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    throw failure('usage', `${what}: --output ${output} cannot be written (${fileFault(error)}); nothing was sent`);
  }
  if (isFolder) throw failure('usage', `${what}: --output ${output} is a directory; nothing was sent`);
}

/**
 * Delivers a request's result (CL-14 to CL-17): text for people, files as requested. A failed migration also shows what it had
 * done.
 */
export async function deliver(
  context: Context,
  following: Followed | Promise<Followed>,
  options: DeliveryOptions,
  noteOf?: (followed: Followed) => string,
): Promise<Answer> {
  let followed: Followed;
  try {
    followed = await following;
  } catch (error) {
    throw error instanceof CommandFailure ? withSteps(context, error, options) : error;
  }
  return delivered(context, followed, options, noteOf?.(followed));
}

function delivered(context: Context, { envelope, id }: Followed, options: DeliveryOptions, note?: string): Answer {
  const notes = { requestId: id, ...(note === undefined ? {} : { note }) };
  if (envelope === null)
    return { data: JSON.stringify({ request_id: id, status: 'executed', result_stored: false }), human: () => 'OK\n', ...notes };
  const view = viewResult(readJson(envelope));
  if (view.truncated) context.output.warn(cutText(view.truncationReason));
  keepCopy(context, id, envelope);
  const render = (format: ResultFormat, style: Style) =>
    migrationText(view.data, options, style, format) ?? renderResult(view, format, style);
  if (options.output !== undefined) {
    const path = resolve(context.terminal.directory, options.output);
    const text = options.resultFormat === undefined ? envelope : render(options.resultFormat, createStyle(false));
    writeOutput(context.what, path, text, { id, envelope });
    return {
      data: envelope,
      requestId: id,
      human: () => '',
      note: `result written to ${options.output}${note === undefined ? '' : `\n${note}`}`,
    };
  }
  const format = options.resultFormat ?? defaultResultFormat(context.layers());
  return { data: envelope, human: () => render(format, context.output.style), ...notes };
}

/** Nothing reads the rest later: the statement has to be asked again in parts. */
const cutText = (reason: string | null) =>
  `the result is cut${reason ? `: ${reason}` : ''}; ask for the rest in parts: add WHERE key > (the last one you have), ORDER BY key and LIMIT, or select fewer columns`;

/** A migration's result for people: text, or JSON when `format` is json; null for other results. */
function migrationText(
  data: JsonText | null | undefined,
  { names }: DeliveryOptions,
  style: Style,
  format?: ResultFormat,
): string | null {
  const view = viewMigration(data);
  if (view === null || !data) return null;
  return format === 'json' ? `${visibleJson(compactJson(data.text))}\n` : renderMigration(view, names ?? new Map(), style);
}

function withSteps(context: Context, error: CommandFailure, options: DeliveryOptions): CommandFailure {
  const text = migrationText(readJson(error.data).get('result_data'), options, context.output.style);
  if (text === null) return error;
  const { code, message, hint, exit, data } = error;
  const shown = new CommandFailure(code, message, { hint, exit, data, human: () => text });
  shown.requestId = error.requestId;
  return shown;
}

/** The statement cannot be run again for its rows, so a failure names the request, and has them in `json`. */
function writeOutput(what: string, path: string, text: string, ran: { id: string; envelope: string }): void {
  try {
    writeWhole(path, text, { replaces: true });
  } catch (error) {
    const problem = failure(
      'internal_error',
      `${what}: the statement ran, but ${path} could not be written (${fileFault(error)})`,
      { hint: `svc request result ${ran.id}`, data: ran.envelope },
    );
    problem.requestId = ran.id;
    throw problem;
  }
}

/** `[results] dir`: a failure is only a warning, because the result is printed anyway. */
function keepCopy(context: Context, id: string, envelope: string): void {
  try {
    const directory = resultsDirectory(context.layers());
    if (directory === null) return;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeWhole(resolve(directory, `${id}.json`), envelope, { replaces: true });
  } catch (error) {
    const why = error instanceof CommandFailure ? error.message : fileFault(error);
    context.output.warn(`the result was not kept in the folder of results.dir (${why})`);
  }
}
