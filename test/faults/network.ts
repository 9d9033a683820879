import type { Detour } from '../support/system-programs.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

/** What the gateway's programs have connections to. */
export const parts = ['the database', 'Temporal', 'the servers', 'the target'] as const;
type Part = (typeof parts)[number];

/** The way of one program to another part. */
interface Link {
  program: string;
  part: Part;
  proxy: TcpProxy;
}

/** Every connection between two parts, so that any of them can be taken away. */
export interface Network {
  links: readonly Link[];
  detourTo(part: Part): Detour;
  close(): Promise<void>;
}

export function createNetwork(): Network {
  const links: Link[] = [];
  return {
    links,
    detourTo: (part) => async (url, program) => {
      const proxy = await startTcpProxy(url);
      links.push({ program, part, proxy });
      return proxy.url;
    },
    close: async () => void (await Promise.all(links.map(({ proxy }) => proxy.close()))),
  };
}
