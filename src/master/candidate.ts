import { deserialize, serialize } from 'node:v8';
import { deflateSync, inflateSync } from 'node:zlib';
import { formatFaults, placeOf, takesColor } from '../../grammar/index.ts';
import type { ConfigText, LoadFault } from '../contract/index.ts';
import {
  check,
  checkPolicyOf,
  configText,
  type ConfigSource,
  type Finding,
  load,
  type Loaded,
  loadFaults,
} from '../pipeline.ts';
import type { GatewayPlan } from '../plan/index.ts';

/** Reports the findings that `refuse` of the `check` block turns into faults. Resolves to true if there are any. */
async function isRefused(loaded: Loaded): Promise<boolean> {
  const { refuses: from } = checkPolicyOf(loaded);
  if (!loaded.plan || from === undefined) return false;
  const found = await check(loaded, { rulesOnly: true });
  const refused = found.filter(({ severity }) => severity === 'error' || severity === from);
  for (const finding of refused) loaded.report.emerg(messageOf(finding), finding.span, finding.hint);
  return refused.length > 0;
}

/** Returns the findings of the rules as lines of the error log, without those of severity info. */
export async function findingLines(loaded: Loaded): Promise<readonly string[]> {
  const findings = await check(loaded, { rulesOnly: true });
  return findings
    .filter(({ severity }) => severity !== 'info')
    .map((finding) => {
      const place = finding.span && placeOf(finding.span);
      return `${messageOf(finding)}${place ? ` in ${place.file}:${place.line}:${place.column}` : ''}`;
    });
}

function messageOf({ rule, slug, message }: Pick<Finding, 'rule' | 'slug' | 'message'>): string {
  return `${rule} ${slug}: ${message}`;
}

/** A loaded configuration that may come to serve. */
export interface Candidate {
  /** Absent if the configuration is refused. */
  readonly plan: GatewayPlan | undefined;
  readonly faults: readonly LoadFault[];
  /** The text of the configuration with secrets masked. */
  readonly text: () => ConfigText;
  /** True if findings of the rules are written to the error log. */
  readonly tellsFindings: boolean;
}

/** A candidate that is not refused. */
export type AcceptedCandidate = Candidate & { readonly plan: GatewayPlan };

/** Loads a configuration and prints its faults on standard error. */
export async function loadCandidate(source: ConfigSource): Promise<Candidate> {
  const loaded = load(source);
  const { report, advice } = loaded;
  const refused = await isRefused(loaded);
  process.stderr.write(formatFaults(report, { program: 'gw', color: takesColor(process.stderr) }));
  if (advice !== undefined) process.stderr.write(`gw: ${advice}\n`);
  return {
    plan: refused ? undefined : loaded.plan,
    faults: loadFaults(report),
    text: () => configText(loaded),
    tellsFindings: checkPolicyOf(loaded).logs,
  };
}

interface Packed extends Omit<Candidate, 'text'> {
  readonly text: ConfigText;
}

/** Serializes a candidate for another process that trusts this one. */
export function pack({ text, ...candidate }: Candidate): string {
  const bytes = serialize({ ...candidate, text: text() } satisfies Packed);
  return deflateSync(bytes, { level: 1 }).toString('base64');
}

export function unpack(packed: string): Candidate {
  const { text, ...candidate } = deserialize(inflateSync(Buffer.from(packed, 'base64'))) as Packed;
  return { ...candidate, text: () => text };
}
