import type { AgentConfig, DatabaseConfig } from '../config-values.js';
import type { Timings } from '../timings.js';
import type { Driver } from './driver.js';
import { createMysqlDriver } from './mysql/mysql.js';
import { createPostgresDriver } from './postgres/postgres.js';
import { dialectOfUrl } from './url.js';

/** Creates the driver for the address's kind of database; does not connect yet. */
export function createDriver(database: DatabaseConfig, config: AgentConfig, timings: Timings): Driver {
  const create = dialectOfUrl(database.url) === 'mysql' ? createMysqlDriver : createPostgresDriver;
  const poolMax = database.poolMax ?? config.maxConcurrentTasks + config.maxConcurrentExplains + 1;
  return create({ ...database, poolMax }, config, timings);
}
