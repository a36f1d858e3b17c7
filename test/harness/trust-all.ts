import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Settings of a server that accepts any login as any role, also over TCP: embedded PostgreSQL accepts only gw. */
export function trustAll(dir: string): { readonly hba_file: string } {
  const file = join(dir, 'trust-all.conf');
  writeFileSync(file, 'local all all trust\nhost all all 127.0.0.1/32 trust\nhost all all ::1/128 trust\n');
  chmodSync(file, 0o644);
  return { hba_file: file };
}
