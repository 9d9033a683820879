import { type SwallowingProxy, startSwallowingProxy } from './swallowing-proxy.js';

/** Whether a message begins an exchange of a session with PostgreSQL: a Parse. */
const beginsWithParse = (data: Buffer) => data[0] === 'P'.charCodeAt(0);

/**
 * Whether a message is a statement for MySQL: the first packet of an exchange, with the command QUERY after its header of four
 * bytes.
 */
export const isMysqlStatement = (data: Buffer) => data[3] === 0 && data[4] === 3;

export interface ExchangeFaults {
  /** The given address with the proxy in its place. */
  url: string;
  proxy: SwallowingProxy;
  /**
   * Counts from now on what is sent to the server, and calls `fault` at the nth exchange: before the server gets it, or when its
   * answer comes.
   */
  arm(nth: number, when: 'before' | 'after', fault?: () => void): void;
  /** Exchanges since then. */
  readonly count: number;
}

/** A proxy in front of a database that can break a run at any of its steps. */
export async function startExchangeFaults(url: string, begins = beginsWithParse): Promise<ExchangeFaults> {
  const proxy = await startSwallowingProxy(Number(new URL(url).port));
  const faults = {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(proxy.port) }).href,
    proxy,
    count: 0,
    arm(nth: number, when: 'before' | 'after', fault = () => {}) {
      faults.count = 0;
      proxy.onClientData = (data) => {
        if (!begins(data) || ++faults.count !== nth) return 'pass';
        fault();
        if (when === 'before') proxy.cut();
        return 'drop';
      };
    },
  };
  return faults;
}
