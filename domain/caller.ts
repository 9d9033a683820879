import type { Permission } from './permission-table.js';

/** A database and an environment; in a policy row either may be `*`. */
export interface Pair {
  database: string;
  environment: string;
}

export type Ownership = 'own' | 'any';

export interface EffectiveRole {
  name: string;
  permissions: { perm: Permission | '*'; ownership: Ownership }[];
  /** Names or `*`, never empty. */
  databases: string[];
  environments: string[];
}

/** The caller as resolved for this call: `roles` are those left after the ceiling; `tokenId` is null for a JWT. */
export type Caller =
  | {
      kind: 'user';
      id: string;
      roles: EffectiveRole[];
      /** The groups that selectors see (HD-71). */
      groups: string[];
      /** All groups, stored and from the JWT (IM-52). */
      memberOf: string[];
      origins: CallerOrigins;
      tokenId: string | null;
    }
  | { kind: 'agent'; id: string; tokenId: string; agentScopes: AgentScopes };

export type UserCaller = Extract<Caller, { kind: 'user' }>;

/**
 * The users behind something (HD-70): everyone who made it, and everyone who created the account or issued the token it was made with. Empty: the
 * gateway itself, or unknown. A lone `*`: more people than are kept, so it may be anybody.
 */
export type Origins = readonly string[];

/** The users behind everything that a caller approves with. */
export interface CallerOrigins {
  account: Origins;
  credential: Origins;
  /** Of each membership; a group that is missing was granted by nobody known. */
  groups: ReadonlyMap<string, Origins>;
  /** For each role, one entry per way of holding it: directly, or through a group. */
  roles: ReadonlyMap<string, readonly Origins[]>;
}

/** The pairs an agent token may serve, as `<database>/<environment>` with `*` for any; null = every pair (HD-10). */
export type AgentScopes = readonly string[] | null;
