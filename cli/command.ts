import type { Command } from 'commander';
import type { Context } from './context.js';
import type { GlobalOptions } from './options.js';
import type { Answer } from './output/output.js';

export type Run<Options> = (context: Context, args: readonly string[], options: Options) => Promise<Answer>;

/** A client command as chosen by its words; `load` imports its code. */
export interface Chosen {
  what: string;
  args: readonly string[];
  options: GlobalOptions & Record<string, unknown>;
  load: () => Promise<Run<never>>;
}

export type Bind = <Options>(command: Command, load: () => Promise<Run<Options>>) => void;
