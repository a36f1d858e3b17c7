import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** True if certificates can be made on this machine. */
export const HAS_OPENSSL = spawnSync('openssl', ['version']).error === undefined;

const NO_NAMES: readonly string[] = [];

const ELLIPTIC = 'ec -pkeyopt ec_paramgen_curve:prime256v1';

/** An authority and the certificates that it signs: PEM files `NAME.crt` and `NAME.key` in a directory of their own. */
export class Certificates {
  readonly dir = mkdtempSync(join(tmpdir(), 'gw-certificates-'));

  path(name: string): string {
    return join(this.dir, name);
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  write(name: string, text: string | Uint8Array): void {
    writeFileSync(this.path(name), text);
  }

  /** Makes a self-signed certificate. An RSA key takes a hundred times as long as one of an elliptic curve. */
  authority(name: string, key = ELLIPTIC): void {
    this.#run(
      `req -x509 -newkey ${key} -nodes -days 30 -subj /CN=${name} -keyout ${name}.key -out ${name}.crt`,
    );
  }

  /** Makes a certificate that an authority signs, with an elliptic-curve or RSA key. */
  signed(
    name: string,
    by: string,
    { subject = `/CN=${name}`, kind = 'ec', days = 30, isAuthority = false, names = NO_NAMES } = {},
  ): void {
    const key = kind === 'ec' ? ELLIPTIC : 'rsa:2048';
    const constraints = `basicConstraints=${isAuthority ? 'critical,CA:TRUE' : 'CA:FALSE'}\n`;
    const alternatives = names.map((one) => `DNS:${one}`).join(',');
    this.write(`${name}.ext`, constraints + (alternatives && `subjectAltName=${alternatives}\n`));
    this.#run(`req -newkey ${key} -nodes -utf8 -keyout ${name}.key -out ${name}.csr -subj`, subject);
    this.#run(
      `x509 -req -in ${name}.csr -CA ${by}.crt -CAkey ${by}.key -CAcreateserial -days ${days} -extfile ${name}.ext -out ${name}.crt`,
    );
  }

  /** Encrypts a key with a password, to `NAME.locked`. */
  lock(name: string, password: string): void {
    this.#run(`pkey -aes128 -passout pass:${password} -in ${name}.key -out ${name}.locked`);
  }

  /** Makes the list `NAME.crl`, in which an authority revokes certificates. */
  revoke(authority: string, name: string): void {
    this.write('index.txt', '');
    this.write('crlnumber', '01\n');
    this.write(
      'ca.cnf',
      `[ca]\ndefault_ca = own\n[own]\ndatabase = ${this.path('index.txt')}\ncrlnumber = ${this.path('crlnumber')}\ndefault_md = sha256\ndefault_crl_days = 30\n`,
    );
    const common = `ca -config ca.cnf -cert ${authority}.crt -keyfile ${authority}.key`;
    this.#run(`${common} -revoke ${name}.crt`);
    this.#run(`${common} -gencrl -out ${authority}.crl`);
  }

  #run(args: string, ...rest: string[]): void {
    execFileSync('openssl', [...args.split(' '), ...rest], { cwd: this.dir, stdio: 'pipe' });
  }
}
