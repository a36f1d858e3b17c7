import type { ConnectionTarget } from './dsn.ts';

/** What the address of a server says about a pooler in front of it. */
export interface AddressedPooler {
  readonly name: string;
  /** `port`: only the port says so, and nothing is known about how sessions are given out. */
  readonly certainty: 'name' | 'port';
  /** A client has a session of the server for itself. */
  readonly keepsSessions: boolean;
  readonly knowsPreparedStatements: boolean;
}

interface KnownAddress extends Omit<AddressedPooler, 'certainty'> {
  readonly host: RegExp;
  readonly port?: number;
}

/**
 * Hosted poolers by their addresses, as their documentation gives them. Amazon's proxy reserves a session for a client that listens
 * or prepares statements ("pinning"), and passes on no notifications.
 */
const KNOWN: readonly KnownAddress[] = [
  {
    name: 'the transaction pooler of Supabase',
    host: /\.pooler\.supabase\.com$/i,
    port: 6543,
    keepsSessions: false,
    knowsPreparedStatements: false,
  },
  {
    name: 'the session pooler of Supabase',
    host: /\.pooler\.supabase\.com$/i,
    keepsSessions: true,
    knowsPreparedStatements: true,
  },
  {
    name: 'the pooler of Neon',
    host: /-pooler\.(?:[\w-]+\.)+neon\.(?:tech|build)$/i,
    keepsSessions: false,
    knowsPreparedStatements: true,
  },
  {
    name: 'Amazon RDS Proxy',
    host: /\.proxy-\w+\.[\w-]+\.rds\.amazonaws\.com(?:\.cn)?$/i,
    keepsSessions: false,
    knowsPreparedStatements: false,
  },
];

/** The port that PgBouncer, Odyssey and pgcat have unless they are told otherwise. */
const POOLER_PORT = 6432;
const BY_PORT: AddressedPooler = {
  name: `port ${POOLER_PORT}`,
  certainty: 'port',
  keepsSessions: false,
  knowsPreparedStatements: false,
};

/** Returns the first pooler among the addresses of a target; `undefined` if none of them says that it is one. */
export function poolerAt({ hosts }: ConnectionTarget): AddressedPooler | undefined {
  for (const { host, port } of hosts) {
    const known = KNOWN.find((address) => address.host.test(host) && (address.port ?? port) === port);
    if (known) return { ...known, certainty: 'name' };
  }
  return hosts.some(({ port }) => port === POOLER_PORT) ? BY_PORT : undefined;
}
