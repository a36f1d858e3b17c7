import { ADDRCONFIG } from 'node:dns';
import { lookup } from 'node:dns/promises';

/** The addresses of a name as the system knows them (`/etc/hosts`, name servers), IPv4 first as in nginx. Rejects when there are none. */
export async function lookUpHost(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, hints: ADDRCONFIG });
  const ofFamily = (wanted: number): string[] =>
    found.filter(({ family }) => family === wanted).map(({ address }) => address);
  return [...ofFamily(4), ...ofFamily(6)];
}
