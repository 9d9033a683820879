import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, lastLines, startChild } from '../../dev/child.js';
import { clone } from '../../dev/layout.js';
import { waitFor } from '../../dev/wait-for.js';

export interface ProgramOptions {
  name: string;
  launcher: 'svc' | 'svc-agent';
  /** Where `bin/` with the launchers lies; the clone if absent. */
  root?: string | undefined;
  args: string[];
  logFile: string;
  environment: NodeJS.ProcessEnv;
  /** Whether it does its work. A file that said so in an earlier life is removed before each start. */
  isReady: () => Promise<boolean>;
  readyFile?: string;
}

/** One process of the gateway, run as an operator runs it. It may die and be started again any number of times. */
export interface Program {
  readonly name: string;
  readonly pid: number;
  /** Starts it and waits until it is ready. */
  start(): Promise<void>;
  /** Starts it and waits for nothing. */
  launch(): void;
  untilReady(): Promise<void>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** How it ended, such as `exit code 0`. */
  exited(): Promise<string>;
  log(): string;
}

// The first start may build the programs, which takes long on a loaded machine.
const startWaitMs = 120_000;

export function createProgram(options: ProgramOptions): Program {
  let child: Child | undefined;
  const running = (): Child => {
    if (child === undefined) throw new Error(`${options.name} was not started`);
    return child;
  };
  const isReady = async () => {
    if (!running().hasExited()) return options.isReady();
    throw new Error(`${options.name} ended: ${await running().exited}\n${lastLines(options.logFile, 20)}`);
  };
  const untilReady = () => waitFor(options.name, isReady, { ms: startWaitMs });
  const launch = () => {
    if (options.readyFile !== undefined) rmSync(options.readyFile, { force: true });
    child = startChild({
      name: options.name,
      file: process.execPath,
      args: [join(options.root ?? clone, 'bin', options.launcher), ...options.args],
      logFile: options.logFile,
      deathSignal: 'SIGKILL',
      environment: options.environment,
    });
  };
  return {
    name: options.name,
    get pid() {
      return running().pid;
    },
    launch,
    untilReady,
    start: () => {
      launch();
      return untilReady();
    },
    kill: async () => child?.stop('SIGKILL', 10_000),
    signal: (name) => void process.kill(running().pid, name),
    exited: () => running().exited,
    log: () => lastLines(options.logFile, 100),
  };
}
