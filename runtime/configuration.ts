import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import type { Releases } from '../lib/releases.js';
import type { GatewayDatabase } from './gateway-database.js';
import { type Generation, syncGeneration, watchGeneration } from './generation.js';
import type { Metrics } from './metrics.js';
import { outgoingBy } from './outgoing.js';
import { createReloader, type ReloadOptions } from './reload.js';

/** A process's configuration: its own file, and the generation that all processes share. */
export interface Configuration {
  config(): Config;
  generation(): Generation;
  /** Reads `server.toml` again (CF-40). */
  reload(): void;
}

export interface ConfigurationOptions extends Pick<ReloadOptions, 'onEnd'> {
  config: Config;
  gateway: Pick<GatewayDatabase, 'database' | 'notifications' | 'patiently' | 'sendOutBy' | 'troubles'>;
  metrics: Metrics;
  log: Logger;
}

/** Puts the file's shared part in force (CF-30), follows what other processes put in force, and reloads on request. */
export async function openConfiguration(options: ConfigurationOptions, releases: Releases): Promise<Configuration> {
  const { metrics, log } = options;
  const { database, notifications, patiently, troubles } = options.gateway;
  let { config } = options;
  const first = await patiently(() => syncGeneration(database, config));
  const onChange = ({ number }: Generation) => metrics.configGeneration.set(number);
  const generations = watchGeneration({ database, notifications, log, troubles, first, onChange });
  releases.add(generations.close);
  options.gateway.sendOutBy(
    outgoingBy(
      () => generations.current().shared,
      () => config,
    ),
  );
  const reloader = createReloader({
    database,
    generations,
    metrics,
    log,
    environment: process.env,
    current: () => config,
    apply: (next) => {
      config = next;
      log.level = next.logging.level;
    },
    ...(options.onEnd === undefined ? {} : { onEnd: options.onEnd }),
  });
  releases.add(reloader.close);
  return { config: () => config, generation: generations.current, reload: reloader.request };
}
