import { startTestApi, type TestApi, type TestApiOptions } from '../support/api.js';
import { createTestDatabase } from '../support/postgres.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

export interface ProxiedApi {
  api: TestApi;
  /** Between the server and its database. */
  proxy: TcpProxy;
  close(): Promise<void>;
}

/** A server whose database can be taken away from it; `close` it after the test file. */
export async function startProxiedApi(options: TestApiOptions = {}): Promise<ProxiedApi> {
  const database = await createTestDatabase();
  const proxy = await startTcpProxy(database.url);
  const api = await startTestApi({ ...options, database, databaseUrl: proxy.url });
  const close = async () => {
    proxy.heal();
    await api.close();
    await proxy.close();
    await database.drop();
  };
  return { api, proxy, close };
}
