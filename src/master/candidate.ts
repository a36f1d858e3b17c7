import { deserialize, serialize } from 'node:v8';
import { deflateSync, inflateSync } from 'node:zlib';
import { formatFaults, placeOf, takesColor } from '../../grammar/index.ts';
import type { ConfigText } from '../contract/index.ts';
import { configText, checkPolicyOf } from '../lookups.ts';
import { check, type ConfigSource, type Finding, load, type Loaded } from '../pipeline.ts';
import type { GatewayPlan } from '../plan/index.ts';

/** Reports as faults what `refuse` of the `check` block keeps from being used; true when there is any. */
async function isRefused(loaded: Loaded): Promise<boolean> {
  const { refuses: from } = checkPolicyOf(loaded);
  if (!loaded.plan || from === undefined) return false;
  const found = await check(loaded, { rulesOnly: true });
  const refused = found.filter(({ severity }) => severity === 'error' || severity === from);
  for (const finding of refused) loaded.report.emerg(messageOf(finding), finding.span, finding.hint);
  return refused.length > 0;
}

/** What the rules find, one line each as the error log has them; advice is for those who ask. */
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

/** A configuration that was loaded to be served. */
export interface Candidate {
  /** Absent: something refuses the configuration. */
  readonly plan: GatewayPlan | undefined;
  readonly findings: ConfigText['findings'];
  /** What was read, secrets masked. */
  readonly text: () => ConfigText;
  /** The error log is told what the rules find. */
  readonly tellsFindings: boolean;
}

/** A configuration that nothing refused. */
export type AcceptedCandidate = Candidate & { readonly plan: GatewayPlan };

/** Loads a configuration, and prints on standard error what is wrong with it. */
export async function loadCandidate(source: ConfigSource): Promise<Candidate> {
  const loaded = load(source);
  const { report } = loaded;
  const refused = await isRefused(loaded);
  process.stderr.write(formatFaults(report, { program: 'gw', color: takesColor(process.stderr) }));
  return {
    plan: refused ? undefined : loaded.plan,
    findings: configText({ tree: undefined, report }).findings,
    text: () => configText(loaded),
    tellsFindings: checkPolicyOf(loaded).logs,
  };
}

interface Packed extends Omit<Candidate, 'text'> {
  readonly text: ConfigText;
}

/** For the way to another process that trusts this one, or back from it. */
export function pack({ text, ...candidate }: Candidate): string {
  const bytes = serialize({ ...candidate, text: text() } satisfies Packed);
  return deflateSync(bytes, { level: 1 }).toString('base64');
}

export function unpack(packed: string): Candidate {
  const { text, ...candidate } = deserialize(inflateSync(Buffer.from(packed, 'base64'))) as Packed;
  return { ...candidate, text: () => text };
}
