import { statSync } from 'node:fs';
import type { DirectiveNode, Span } from '../../../grammar/index.ts';
import { secretSpans } from '../../config/index.ts';
import type { CheckedConfig } from '../../contract/index.ts';

/** A secret written in the configuration, and its directive. */
interface WrittenSecret {
  readonly node: DirectiveNode;
  readonly span: Span;
}

/** A reference that is expanded when the configuration loads; its default value is only for tests. */
const EXPANSIONS = /\$\{(?:env|file):[^}]*\}/g;
const VARIABLES = /\$(?:\{\w+\}|\w+)/g;
const PUBLIC_KEY = /-----BEGIN (?:PUBLIC KEY|CERTIFICATE)-----|"kty"\s*:\s*"(?:RSA|EC|OKP)"/;

/** The directives with written secrets, in file order, each with its first secret. */
export function writtenSecrets({ registry, uses }: CheckedConfig): readonly WrittenSecret[] {
  const names = registry.entries.flatMap(({ name, row }) => (row.secret ? name : []));
  return uses(...new Set(names)).flatMap(({ node }) => {
    const { block: _inner, ...alone } = node;
    const span = secretSpans({ directives: [alone], sources: [] }, registry).find((one) =>
      isWritten(one, node),
    );
    return span ? [{ node, span }] : [];
  });
}

function isWritten(span: Span, node: DirectiveNode): boolean {
  const text = span.source.text.slice(span.start, span.end);
  const written = text.replace(EXPANSIONS, '').replace(VARIABLES, '');
  return /\w/.test(written) && !isPublicKey(text) && !isDefault(span, node);
}

/** True for a public key, which verifies tokens but cannot sign them. */
function isPublicKey(text: string): boolean {
  return PUBLIC_KEY.test(text) && !/"d"\s*:/.test(text);
}

/** True for a span inside an expansion. */
function isDefault({ source, start, end }: Span, { span: whole }: DirectiveNode): boolean {
  const text = source.text.slice(whole.start, whole.end);
  return [...text.matchAll(EXPANSIONS)].some(
    ({ index, 0: { length } }) => whole.start + index <= start && end <= whole.start + index + length,
  );
}

const WORLD_READABLE = 0o004;
/** The directory for secrets in containers, readable by all their processes. */
const SECRETS = /^(?:\/var)?\/run\/secrets\//;

/** The mode of a file that every user of the machine can read, as for chmod; else `undefined`. */
export function worldReadableMode(path: string): string | undefined {
  if (SECRETS.test(path)) return undefined;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & WORLD_READABLE) === 0 ? undefined : (mode & 0o777).toString(8).padStart(4, '0');
}
