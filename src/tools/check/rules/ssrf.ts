import type { BlockView } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule, Use } from '../../../contract/index.ts';
import { type Analysis, analysisOf } from '../analysis.ts';
import type { Machine } from '../regex/index.ts';
import type { Alternative, ClientSource } from '../taint/index.ts';

const ssrf: Rule = {
  id: 'GW407',
  slug: 'ssrf',
  severity: 'error',
  summary: 'the client can choose the host that a request is forwarded to, or the store',
  why: 'A client that chooses the host can reach services that only this machine should reach: those behind the firewall, and the credentials that clouds provide at 169.254.169.254.',
  fix: 'Use a "map" from the text that the client sends to the allowed hosts, or list the allowed hosts in "proxy_allow_hosts" or "kv_allow_hosts".',
  bad: { text: 'resolver 127.0.0.53;\nlocation /fetch { proxy_pass http://$arg_host; }' },
  good: {
    in: 'http',
    text: 'map $arg_host $allowed {\n  a a.internal:8080;\n  default b.internal:8080;\n}\nserver {\n  listen 127.0.0.1:8080;\n  resolver 127.0.0.53;\n  location /fetch { proxy_pass http://$allowed; }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const analysis = analysisOf(config);
    const [first] = config.blocks('server');
    for (const use of config.uses('proxy_pass', 'kv_pass')) {
      const problem = problemOf(use, analysis, first);
      if (problem) yield problem;
    }
  },
};

/** Hosts that no operator intends to forward to. */
const EVIL = '(?:evil\\.example|169\\.254\\.169\\.254)';
/** The scheme before a host in a variable; a store needs none. */
const SCHEMES: Readonly<Record<string, string>> = { proxy_pass: 'https?://', kv_pass: '(?:rediss?://)?' };

/** The directives that list the allowed hosts. */
const LISTS: Readonly<Record<string, string>> = {
  proxy_pass: 'proxy_allow_hosts',
  kv_pass: 'kv_allow_hosts',
};

function problemOf(
  { node, block }: Use,
  { taints, patterns }: Analysis,
  first: BlockView | undefined,
): Problem | undefined {
  const [word] = node.args;
  if (!word?.value.includes('$')) return undefined;
  if (block.effective(LISTS[node.name.value] ?? '').length > 0) return undefined;
  // A service has seen the request, and decides where it may go.
  if (block.effective('auth_request').some(({ args }) => args[0]?.value !== 'off')) return undefined;
  for (const alternative of taints.alternativesOf(word, { node, block })) {
    for (const { source, bad } of hostSources(alternative, SCHEMES[node.name.value] ?? '')) {
      if (/^\$(?:http_)?host$/.test(source.name) && !takesAnyHost(block, first)) continue;
      const text = taints.badTextOf(source, patterns.of(bad, false)?.language as Machine);
      if (text === undefined) continue;
      return {
        at: word.span,
        message: `the client can choose the ${node.name.value === 'kv_pass' ? 'store' : 'upstream host'}: "${source.name}" may be "${text}"`,
        related: source.related.filter(
          ({ span }) => span.start < word.span.start || span.start >= word.span.end,
        ),
      };
    }
  }
  return undefined;
}

/** The client-controlled parts of the scheme and host of a URL, with the texts that would choose the host. */
function* hostSources(
  alternative: Alternative,
  scheme: string,
): Generator<{ readonly source: ClientSource; readonly bad: string }> {
  let before = '';
  for (const [index, piece] of alternative.entries()) {
    // After a port or a slash the host has ended.
    if (typeof piece === 'string') before += piece;
    else yield { source: piece, bad: badTexts(before, textBehind(alternative, index), scheme) };
    if (/:\/\/.*[/?:]|^[^/?:]+:(?!\/\/)/.test(before)) return;
  }
}

/**
 * The texts that choose the host: after a host come its port and path, and other text is part of it unless the client
 * ends the host before.
 */
function badTexts(before: string, behind: string, scheme: string): string {
  const isBegun = before.includes('://') || (before !== '' && scheme.endsWith('?'));
  if (!isBegun && (behind === '' || !scheme.endsWith('?'))) return `^${scheme}${EVIL}(?:[/:?]|$)`;
  return behind === '' || /^[:/?]/.test(behind) ? `^${EVIL}$` : `^${EVIL}[/?]`;
}

function textBehind(alternative: Alternative, index: number): string {
  const next = alternative.slice(index + 1).find((piece) => piece !== '');
  return next === undefined ? '' : typeof next === 'string' ? next : '.';
}

/** True if requests for other hosts than the server's names reach it. */
function takesAnyHost(block: BlockView, first: BlockView | undefined): boolean {
  const server = [...block.outward()].find(({ context }) => context === 'server');
  if (!server || server === first) return true;
  const isDefault = ({ args }: { readonly args: readonly { readonly value: string }[] }): boolean =>
    args.some(({ value }) => value === 'default_server' || value === 'default');
  return server.own('listen').some(isDefault) || server.own('server_name').length === 0;
}

/** The rules about forwarding to hosts that clients choose. */
export const SSRF_RULES: readonly Rule[] = [ssrf];
