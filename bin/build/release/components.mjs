/** What artifacts contain besides packages of npm, as components of CycloneDX: Node.js, and packages of Debian. */

/** Numbers of interfaces and standards, which are no part that somebody maintains. */
const INTERFACES = ['node', 'modules', 'napi', 'unicode', 'cldr', 'tz'];

/** Returns Node.js with the libraries in it; `versions` is its `process.versions`. */
export function nodeComponent({ node, ...versions }) {
  const libraries = Object.entries(versions).filter(([name]) => !INTERFACES.includes(name));
  return {
    ...generic('application', 'node', node),
    // The name by which lists of vulnerabilities know it.
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
    scope: 'required',
    licenses: [{ license: { id: 'MIT' } }],
    components: libraries.map(([name, version]) => generic('library', name, version)),
    properties: [{ name: 'gw:contained', value: 'in the artifacts for Linux' }],
  };
}

/** Returns the packages that a status file of dpkg describes. */
export function debianComponents(status) {
  const packages = status.split(/\n\n+/).filter((text) => text.includes('Package: '));
  return packages.map((text) => {
    const field = (name) => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1];
    const [name, version] = [field('Package'), field('Version')];
    const reference = `pkg:deb/debian/${name}@${encoded(version)}?arch=${field('Architecture')}`;
    return {
      type: 'library',
      'bom-ref': reference,
      name,
      version,
      purl: reference,
      scope: 'required',
      properties: [{ name: 'gw:contained', value: 'in the image' }],
    };
  });
}

function generic(type, name, version) {
  const purl = `pkg:generic/${name}@${encoded(version)}`;
  return { type, 'bom-ref': purl, name, version, purl };
}

/** A version as URLs of packages have it (purl specification): colons stay. */
function encoded(version) {
  return encodeURIComponent(version).replaceAll('%3A', ':');
}
