import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { check, load } from '../../../src/pipeline.ts';

/** A configuration, and the findings of the rules of one group: `GW601 message`, in the order of the file. */
export interface GroupCase {
  readonly it: string;
  /** In the http block. */
  readonly conf: string;
  /** The only file that it may read: `${file:secret}`. */
  readonly secret?: string;
  readonly says: readonly string[];
}

/** A test for each case; `group` is how the ids of the rules begin: `GW6`. */
export function testGroup(group: string, cases: readonly GroupCase[]): void {
  for (const { it, conf, secret, says } of cases) {
    test(it, async ({ onTestFinished }) => {
      const directory = mkdtempSync(join(tmpdir(), 'gw-check-'));
      onTestFinished(() => rmSync(directory, { recursive: true }));
      if (secret !== undefined) writeFileSync(join(directory, 'secret'), secret);
      const source = { confFile: join(directory, 'gw.conf'), name: 'gw.conf', prefix: directory };
      const findings = await check(load({ ...source, text: `http { ${conf} }` }));
      expect(
        findings.flatMap(({ rule, message }) => (rule.startsWith(group) ? `${rule} ${message}` : [])),
      ).toEqual(says);
      // No secret may show in the output of a check.
      if (secret !== undefined) expect(findings.map(({ message }) => message).join()).not.toContain(secret);
    });
  }
}
