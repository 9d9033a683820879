import type { IncomingHttpHeaders } from 'node:http';
import { type Finding, failed } from '../../lib/doctor-checks.js';
import type { Layers } from '../config/layers.js';
import type { Context } from '../context.js';
import { CommandFailure } from '../failure.js';

/** What the checks of a client share. Earlier checks fill it, and later ones need those (CL-45). */
export interface Place {
  /** Its warnings are those of the check that makes them. */
  context: Context;
  /** For each call. */
  timeoutMs: number;
  /** Takes the warnings that were heard since the last call. */
  heard(): string[];
  layers?: Layers;
  /** The answer to `GET /health`, and the time here halfway through the call. */
  health?: { version: string; headers: IncomingHttpHeaders; at: number };
  /** Pairs that the caller sees. */
  pairs?: readonly Pair[];
}

export interface Pair {
  database: string;
  environment: string;
}

/** What an error of the command line says. Another error is a bug of ours, and its words stay out: they may quote anything. */
export function explain(error: unknown): Finding {
  if (!(error instanceof CommandFailure))
    return failed('could not be checked: an error inside svc', { hint: 'report it as a bug' });
  const isOwnFault = error.code === 'config_error' || error.code === 'auth_error';
  const hint = error.hint ?? (isOwnFault ? 'correct what the message names' : 'try again, with a longer --timeout');
  return failed(said(error.message.replace(/^doctor: /, '')), { hint });
}

/** A text of the server, short enough for a message. It is made visible where it is printed. */
export const said = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}...` : text);

/** The first few of a list that others wrote. */
export function some(names: readonly string[]): string {
  const shown = names.slice(0, 5).map(said).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

export const nameOf = ({ database, environment }: Pair): string => `${database}/${environment}`;
