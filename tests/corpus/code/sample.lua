local x = 1

-- says
function M.hi(a)
  return a
end

local function lo()
end
