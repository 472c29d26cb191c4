module.exports = function late() { return 'late'; };
