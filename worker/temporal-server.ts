import { msToTs } from '@temporalio/common/lib/time.js';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { searchAttributes } from '../workflows/messages.js';
import { describeError, grpcCode, withinMs } from './temporal-errors.js';

/** What is true of a server once it was prepared. */
export interface PreparedServer {
  /** A start may name our search attributes; where we may not register them, it goes without. */
  searchable: boolean;
  /** Something was missing and has been made, as after a loss of Temporal's data. */
  repaired: boolean;
}

const notFound = 5;
const alreadyExists = 6;
const retention = msToTs('7 days');
// temporal.api.enums.v1.IndexedValueType: the package with its name loads 4 MB of generated code and is CommonJS.
const keyword = 2;

/**
 * Makes what is missing on the server: namespace and search attributes, without which every start would be refused. Rejects when the
 * server cannot be reached or the namespace is neither there nor allowed to be made.
 */
export async function prepareServer(
  connection: NativeConnection,
  options: { namespace: string; callTimeoutMs: number; log: Logger },
): Promise<PreparedServer> {
  const { namespace, callTimeoutMs, log } = options;
  const call = <T>(work: () => Promise<T>) =>
    withinMs(callTimeoutMs, () => connection.withDeadline(Date.now() + callTimeoutMs, work));
  const madeNamespace = await ensureNamespace(connection, namespace, call);
  if (madeNamespace) log.info({ namespace }, 'Temporal namespace registered');
  const missing = await call(() => missingAttributes(connection, namespace)).catch((error: unknown) => {
    if (grpcCode(error) === undefined) throw error;
    return [...searchAttributes];
  });
  if (missing.length === 0) return { searchable: true, repaired: madeNamespace };
  try {
    await call(() => addAttributes(connection, namespace, missing));
    log.info({ namespace, attributes: missing }, 'Temporal search attributes registered');
    return { searchable: true, repaired: true };
  } catch (error) {
    if (grpcCode(error) === alreadyExists) return { searchable: true, repaired: true };
    const commands = missing.map(
      (name) => `temporal operator search-attribute create -n ${namespace} --name ${name} --type Keyword`,
    );
    log.warn({ error: describeError(error), commands }, 'search attributes cannot be registered; workflows start without them');
    return { searchable: false, repaired: madeNamespace };
  }
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

async function missingAttributes({ operatorService }: NativeConnection, namespace: string): Promise<string[]> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  return searchAttributes.filter((name) => customAttributes?.[name] !== keyword);
}

async function addAttributes({ operatorService }: NativeConnection, namespace: string, names: string[]): Promise<void> {
  const added = Object.fromEntries(names.map((name) => [name, keyword]));
  await operatorService.addSearchAttributes({ namespace, searchAttributes: added });
}
