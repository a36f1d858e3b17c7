import { isIP } from 'node:net';
import type { DirectiveNode, Word } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import { namesText } from '../../names.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { certificatesOf, tlsServers } from '../../tls-servers.ts';
import type { ShownCertificate } from '../../tls-servers.ts';
import { SHOP } from './shop.ts';

export const certificateName: Rule = {
  id: 'GW505',
  slug: 'certificate-name',
  severity: 'warning',
  summary: 'a server has a name that its certificate does not have',
  why: 'Browsers refuse the site under that name.',
  fix: 'Have the certificate issued for all names of the server.',
  bad: {
    text: SHOP.text.replace('server_name shop.example', 'server_name shop.example www.shop.example'),
    files: SHOP.files,
  },
  good: SHOP,
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const server of tlsServers(config)) {
      const shown = certificatesOf(server);
      const [first] = shown;
      if (!first) continue;
      const uncovered = namesOf(server).filter(
        ({ value }) => !shown.some(({ certificate }) => isCovered(value, certificate)),
      );
      for (const word of uncovered) yield problemOf(word, first);
    }
  },
};

/** Those that a client can ask for in a handshake. */
function namesOf(server: BlockView): readonly Word[] {
  return server
    .own('server_name')
    .flatMap(({ args }: DirectiveNode) => args)
    .filter(({ value }) => /^(?:\*?\.)?[^.~_$*][^~$*]*\.[^.*]+$/.test(value) || isIP(value) > 0);
}

/** `.example.org` stands for the name and all below it, which `*.example.org` in a certificate covers. */
function isCovered(name: string, certificate: ShownCertificate['certificate']): boolean {
  if (isIP(name) > 0) return certificate.checkIP(name) !== undefined;
  const bare = name.replace(/^\*?\./, '');
  if (name === bare) return certificate.checkHost(name) !== undefined;
  return certificate.checkHost(`gw-check.${bare}`) !== undefined;
}

function problemOf(word: Word, { node, file, certificate }: ShownCertificate): Problem {
  const names = (certificate.subjectAltName ?? '')
    .split(', ')
    .flatMap((entry) => /^(?:DNS|IP Address):(.*)$/.exec(entry)?.[1] ?? []);
  return {
    at: word.span,
    message: `"${word.value}" is not a name of certificate "${file.text}"`,
    hint: names.length > 0 ? `it has ${namesText(names)}` : 'it has no names (subjectAltName)',
    related: [{ span: node.span, label: 'the certificate' }],
  };
}
