import type { ConnectionTarget } from './dsn.ts';

/** A pooler that the address of a server reveals. */
export interface AddressedPooler {
  readonly name: string;
  /** `port`: only the port suggests it, and it is not known how the pooler assigns sessions. */
  readonly certainty: 'name' | 'port';
  /** Each client has a session of the server to itself. */
  readonly keepsSessions: boolean;
  readonly knowsPreparedStatements: boolean;
}

interface KnownAddress extends Omit<AddressedPooler, 'certainty'> {
  readonly host: RegExp;
  readonly port?: number;
}

/**
 * Hosted poolers by their addresses, as their documentation gives them. Amazon's proxy reserves a session for a client
 * that listens or prepares statements ("pinning"), and forwards no notifications.
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

/** The default port of PgBouncer, Odyssey and pgcat. */
const POOLER_PORT = 6432;
const BY_PORT: AddressedPooler = {
  name: `port ${POOLER_PORT}`,
  certainty: 'port',
  keepsSessions: false,
  knowsPreparedStatements: false,
};

/** Returns the first pooler among the addresses of a target; `undefined` if no address reveals one. */
export function poolerAt({ hosts }: ConnectionTarget): AddressedPooler | undefined {
  for (const { host, port } of hosts) {
    const known = KNOWN.find((address) => address.host.test(host) && (address.port ?? port) === port);
    if (known) return { ...known, certainty: 'name' };
  }
  return hosts.some(({ port }) => port === POOLER_PORT) ? BY_PORT : undefined;
}
