/**
 * Code breaks, since a scrolled block is a region without a name. The setting is in this file because
 * starlight-openapi replaces what Starlight's own settings say of code.
 */
export default { defaultProps: { wrap: true } };
