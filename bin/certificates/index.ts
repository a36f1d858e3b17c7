import { type Command, Option } from 'commander';
import type { Finish } from '../command-definition.ts';
import type { AcmeOptions, RecordOptions, RenewOptions, RevokeOptions } from './acme.ts';

/** The reasons of RFC 5280, 5.3.1 that an authority takes from those who have a certificate. */
const REASONS = ['unspecified', 'key-compromise', 'affiliation-changed', 'superseded', 'cessation'];

/** Adds the options that name a configuration. */
function configured(command: Command): Command {
  return command
    .option('-c, --config <file>', 'configuration of the gateway, which names the certificates')
    .option('-p, --prefix <directory>', 'directory that relative paths start from');
}

/** Adds the commands for certificates that gw orders itself. */
export function addCertificates(gw: Command, finish: Finish): void {
  const acme = gw.command('acme').description('certificates that gw orders and renews itself (ACME)');
  configured(acme.command('status'))
    .description(
      'list the certificates of a configuration: until when they are valid, the next order, the last fault',
    )
    .option('--json', 'as JSON, for programs')
    .action(async (options: AcmeOptions & { json?: boolean }) => {
      finish(await (await import('./acme.ts')).acmeStatus(options));
    });
  configured(acme.command('record'))
    .description('print the DNS records by which dns-persist-01 knows the account')
    .option(
      '--issuer-domain <name>',
      'how the authority is called in records (default: as its directory says)',
    )
    .action(async (options: RecordOptions) => {
      finish(await (await import('./acme.ts')).acmeRecords(options));
    });
  configured(acme.command('renew'))
    .description('have the running gateway order new certificates within seconds')
    .argument('[certificate...]', 'an id (gw acme status lists them) or a name')
    .option('--all', 'all certificates of the configuration')
    .option('--issuer <name>', 'only those of this issuer')
    .action(async (wanted: readonly string[], options: RenewOptions) => {
      finish(await (await import('./acme.ts')).acmeRenew(wanted, options));
    });
  configured(acme.command('revoke'))
    .description('revoke a certificate at its authority, and have the running gateway order another one')
    .argument('<certificate>', 'its id (gw acme status lists them) or a name')
    .option('--issuer <name>', 'only one of this issuer')
    .addOption(new Option('--reason <reason>', 'why').choices(REASONS).default('unspecified'))
    .action(async (wanted: string, options: RevokeOptions) => {
      finish(await (await import('./acme.ts')).acmeRevoke(wanted, options));
    });
}
