import { msToTs } from '@temporalio/common/lib/time.js';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { searchAttributes } from '../workflows/messages.js';
import { describeError, grpcCode, withinMs } from './temporal-errors.js';

/** What preparing the server found out. */
export interface PreparedServer {
  /** Whether starts may set our search attributes. False if we may not register them. */
  searchable: boolean;
  /** Something was missing and was created, as after a loss of Temporal's data. */
  repaired: boolean;
}

const notFound = 5;
const alreadyExists = 6;
// Invalid argument (no room for more), permission denied, failed precondition, unimplemented: a retry changes nothing.
const refusals: ReadonlySet<number> = new Set([3, 7, 9, 12]);
const retention = msToTs('7 days');
// temporal.api.enums.v1.IndexedValueType. Importing the package for its name would load 4 MB of generated code, and it is CommonJS.
const keyword = 2;

/**
 * Creates a missing namespace and search attributes, without which every start would be refused. Rejects if the server is unreachable, or
 * if the namespace is missing and may not be created.
 */
export async function prepareServer(
  connection: NativeConnection,
  options: { namespace: string; callTimeoutMs: number; log: Logger },
): Promise<PreparedServer> {
  const { namespace, callTimeoutMs, log } = options;
  const call = <T>(work: () => Promise<T>) => withinMs(callTimeoutMs, connection.withDeadline(Date.now() + callTimeoutMs, work));
  const madeNamespace = await ensureNamespace(connection, namespace, call);
  if (madeNamespace) log.info({ namespace }, 'Temporal namespace registered');
  const made = await ensureAttributes(connection, namespace, call, log);
  return { searchable: made !== 'refused', repaired: madeNamespace || made === 'made' };
}

type Call = <T>(work: () => Promise<T>) => Promise<T>;

async function ensureNamespace({ workflowService }: NativeConnection, namespace: string, call: Call): Promise<boolean> {
  try {
    await call(() => workflowService.describeNamespace({ namespace }));
    return false;
  } catch (error) {
    if (grpcCode(error) !== notFound) throw error;
  }
  await call(() => workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: retention })).catch(
    (error: unknown) => {
      if (grpcCode(error) !== alreadyExists) throw error;
    },
  );
  return true;
}

async function ensureAttributes(
  connection: NativeConnection,
  namespace: string,
  call: Call,
  log: Logger,
): Promise<'there' | 'made' | 'refused'> {
  const find = () => call(() => missingAttributes(connection, namespace));
  let missing: string[] = [...searchAttributes];
  try {
    missing = await find();
    if (missing.length === 0) return 'there';
    await call(() => addAttributes(connection, namespace, missing)).catch((error: unknown) => {
      // Another worker may have been faster; the check below looks for them.
      if (grpcCode(error) !== alreadyExists) throw error;
    });
    missing = await find();
    if (missing.length === 0) {
      log.info({ namespace }, 'Temporal search attributes registered');
      return 'made';
    }
  } catch (error) {
    // For some seconds, parts of the server do not know a new namespace. The caller retries.
    if (!refusals.has(grpcCode(error) ?? 0)) throw error;
    log.warn({ error: describeError(error) }, 'Temporal search attributes were refused');
  }
  const commands = missing.map(
    (name) => `temporal operator search-attribute create -n ${namespace} --name ${name} --type Keyword`,
  );
  log.warn({ commands }, 'search attributes are missing; workflows start without them');
  return 'refused';
}

async function missingAttributes({ operatorService }: NativeConnection, namespace: string): Promise<string[]> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  return searchAttributes.filter((name) => customAttributes?.[name] !== keyword);
}

async function addAttributes({ operatorService }: NativeConnection, namespace: string, names: string[]): Promise<void> {
  const added = Object.fromEntries(names.map((name) => [name, keyword]));
  await operatorService.addSearchAttributes({ namespace, searchAttributes: added });
}
