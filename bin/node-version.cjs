/** The lowest supported Node release; must equal `engines` in package.json. */
const lowest = [20, 19];

/** Ends the process with a one-sentence message when Node is too old. */
function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > lowest[0] || (major === lowest[0] && minor >= lowest[1])) return;
  process.stderr.write(
    `error: Node ${lowest.join('.')} or newer is needed, this is ${process.versions.node}; see https://nodejs.org\n`,
  );
  process.exit(1);
}

module.exports = { checkNode };
