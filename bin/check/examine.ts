import { readFileBytes } from '../../grammar/index.ts';
import { judgesFragments } from '../../src/check/index.ts';
import type { Finding, Review, RuleSeverity } from '../../src/check/index.ts';
import { load, review } from '../../src/pipeline.ts';
import type { ConfigSource } from '../../src/pipeline.ts';
import { inEncodingOf } from '../replace-file.ts';
import { withoutKnown } from './baseline.ts';
import type { Baseline } from './baseline.ts';
import type { Input } from './inputs.ts';
import type { CheckSettings } from './settings.ts';

/** Texts that take the place of those of the files, by absolute path. */
export type Texts = ReadonlyMap<string, string>;

/** How configurations are examined. */
export interface Examination {
  readonly settings: CheckSettings;
  readonly baseline?: Baseline | undefined;
}

const RANKS: Readonly<Record<RuleSeverity, number>> = { error: 2, warning: 1, info: 0 };

/** Whether a severity is another one or worse. */
export function isAtLeast(severity: RuleSeverity, least: RuleSeverity): boolean {
  return RANKS[severity] >= RANKS[least];
}

/** What is wrong with one configuration, as far as anybody asked. */
export async function examine(
  input: Input,
  { settings, baseline }: Examination,
  texts: Texts = new Map(),
): Promise<Review> {
  const { skipUnsupported, rules, severity } = settings;
  const loaded = load(withTexts(input.source, texts), { advise: true, skipUnsupported });
  const found = withoutWrapper(await review(loaded, rules), input);
  const shown = {
    ...found,
    findings: found.findings.filter((finding) => isAtLeast(finding.severity, severity)),
  };
  return baseline ? withoutKnown(shown, baseline) : shown;
}

function withTexts(source: ConfigSource, texts: Texts): ConfigSource {
  if (texts.size === 0) return source;
  const { confFile, readFile = readFileBytes, text } = source;
  return {
    ...source,
    ...(text !== undefined && { text: texts.get(confFile) ?? text }),
    readFile: (file, maxBytes) => {
      const old = readFile(file, maxBytes);
      const changed = texts.get(file);
      if (changed === undefined) return old;
      return typeof old === 'string' ? changed : inEncodingOf(old, changed);
    },
  };
}

/** Around a piece of configuration stands a text of ours, which nobody wants to hear of. */
function withoutWrapper(found: Review, { fragment }: Input): Review {
  const [wrapper] = found.sources;
  if (fragment === undefined || !wrapper) return found;
  const isOfInterest = ({ span, slug }: Finding): boolean =>
    span?.source !== wrapper && judgesFragments(slug);
  return {
    ...found,
    findings: found.findings.filter(isOfInterest),
    suppressed: found.suppressed.filter(isOfInterest),
    sources: found.sources.slice(1),
  };
}
